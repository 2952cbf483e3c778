// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Two locks taken in one order by all; in two orders there is a deadlock.
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
  pthread_mutex_lock(first);
  pthread_mutex_lock(second);
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
}
static void *run(void *arg) {
#ifdef FAULT
  both(&b, &a);
#else
  both(&a, &b);
#endif
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  both(&a, &b);
  pthread_join(thread, NULL);
  return 0;
}
