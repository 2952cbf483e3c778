// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. pthread_exit() runs the handlers, the last one first, before the
// destructors of keys; main joins before it reads what they write, or does not.
#include <assert.h>
#include <pthread.h>
static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int handlers, destructors;
static void unlock(void* held) {
  handlers = 1;
  pthread_mutex_unlock(held);
}
static void count(void* unused) {
  assert(unused == NULL && handlers == 1);
  handlers = 2;
}
static void destroy(void* value) {
  assert(value != NULL && handlers == 2);
  destructors = 1;
}
static void leave(void) {
  pthread_exit(&key);
}
static void* run(void* value) {
  pthread_setspecific(key, value);
  pthread_cleanup_push(count, NULL);
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  leave();
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return NULL;
}
int main(void) {
  pthread_t thread;
  void* result;
  pthread_key_create(&key, destroy);
  pthread_create(&thread, NULL, run, &mutex);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
#ifdef FAULT
  (void)handlers;
  handlers = 0;
#endif
  pthread_join(thread, &result);
  assert(handlers == 2 && destructors == 1 && result == &key);
}
