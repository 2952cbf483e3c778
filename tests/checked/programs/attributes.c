// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Attributes make a mutex recursive and a thread detached.
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t mutex;
static atomic_int done;
static int data;
static void* run(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&mutex);
#ifdef FAULT
  atomic_store_explicit(&done, 1, memory_order_relaxed);
#else
  atomic_store_explicit(&done, 1, memory_order_release);
#endif
  return unused;
}
int main(void) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  pthread_create(&thread, &detached, run, NULL);
  pthread_attr_destroy(&detached);
  while (atomic_load_explicit(&done, memory_order_acquire) == 0) {
  }
  return data - 1;
}
