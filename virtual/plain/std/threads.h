// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of the C library's header in a program that is compiled for the checker: C11's
// threads by pthreads, which the checker has models of.
#pragma GCC system_header

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define thread_local _Thread_local
#define ONCE_FLAG_INIT PTHREAD_ONCE_INIT
#define TSS_DTOR_ITERATIONS 4

typedef pthread_t thrd_t;
typedef pthread_mutex_t mtx_t;
typedef pthread_cond_t cnd_t;
typedef pthread_key_t tss_t;
typedef pthread_once_t once_flag;
typedef int (*thrd_start_t)(void*);
typedef void (*tss_dtor_t)(void*);

enum { thrd_success, thrd_busy, thrd_error, thrd_nomem, thrd_timedout };
enum { mtx_plain = 0, mtx_recursive = 1, mtx_timed = 2 };

static inline int lockyard_c_result(int error) {
  return error == 0           ? thrd_success
         : error == EBUSY     ? thrd_busy
         : error == ETIMEDOUT ? thrd_timedout
                              : thrd_error;
}

struct lockyard_c_start {
  thrd_start_t run;
  void* argument;
};
static inline void* lockyard_c_run(void* start) {
  const struct lockyard_c_start mine = *(struct lockyard_c_start*)start;
  free(start);
  return (void*)(intptr_t)mine.run(mine.argument);
}
static inline int thrd_create(thrd_t* made, thrd_start_t run, void* argument) {
  struct lockyard_c_start* const start = (struct lockyard_c_start*)malloc(sizeof *start);
  start->run = run;
  start->argument = argument;
  return lockyard_c_result(pthread_create(made, NULL, lockyard_c_run, start));
}
static inline int thrd_join(thrd_t which, int* result) {
  void* found = NULL;
  const int error = pthread_join(which, &found);
  if (result != NULL) *result = (int)(intptr_t)found;
  return lockyard_c_result(error);
}
static inline int thrd_detach(thrd_t which) {
  return lockyard_c_result(pthread_detach(which));
}
static inline _Noreturn void thrd_exit(int result) {
  pthread_exit((void*)(intptr_t)result);
}
static inline thrd_t thrd_current(void) {
  return pthread_self();
}
static inline int thrd_equal(thrd_t a, thrd_t b) {
  return pthread_equal(a, b);
}
static inline void thrd_yield(void) {
  sched_yield();
}
static inline int thrd_sleep(const struct timespec* length, struct timespec* left) {
  return nanosleep(length, left);
}

static inline int mtx_init(mtx_t* mutex, int kind) {
  const mtx_t plain = PTHREAD_MUTEX_INITIALIZER;
  *mutex = plain;
  if (kind & mtx_recursive) mutex->__data.__kind = PTHREAD_MUTEX_RECURSIVE_NP;
  return thrd_success;
}
static inline void mtx_destroy(mtx_t* mutex) {
  pthread_mutex_destroy(mutex);
}
static inline int mtx_lock(mtx_t* mutex) {
  return lockyard_c_result(pthread_mutex_lock(mutex));
}
static inline int mtx_trylock(mtx_t* mutex) {
  return lockyard_c_result(pthread_mutex_trylock(mutex));
}
static inline int mtx_timedlock(mtx_t* mutex, const struct timespec* limit) {
  return lockyard_c_result(pthread_mutex_timedlock(mutex, limit));
}
static inline int mtx_unlock(mtx_t* mutex) {
  return lockyard_c_result(pthread_mutex_unlock(mutex));
}

static inline int cnd_init(cnd_t* on) {
  return lockyard_c_result(pthread_cond_init(on, NULL));
}
static inline void cnd_destroy(cnd_t* on) {
  pthread_cond_destroy(on);
}
static inline int cnd_signal(cnd_t* on) {
  return lockyard_c_result(pthread_cond_signal(on));
}
static inline int cnd_broadcast(cnd_t* on) {
  return lockyard_c_result(pthread_cond_broadcast(on));
}
static inline int cnd_wait(cnd_t* on, mtx_t* mutex) {
  return lockyard_c_result(pthread_cond_wait(on, mutex));
}
static inline int cnd_timedwait(cnd_t* on, mtx_t* mutex, const struct timespec* limit) {
  return lockyard_c_result(pthread_cond_timedwait(on, mutex, limit));
}

static inline void call_once(once_flag* once, void (*run)(void)) {
  pthread_once(once, run);
}
static inline int tss_create(tss_t* key, tss_dtor_t end) {
  return lockyard_c_result(pthread_key_create(key, end));
}
static inline void tss_delete(tss_t key) {
  pthread_key_delete(key);
}
static inline void* tss_get(tss_t key) {
  return pthread_getspecific(key);
}
static inline int tss_set(tss_t key, void* value) {
  return lockyard_c_result(pthread_setspecific(key, value));
}
