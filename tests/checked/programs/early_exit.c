// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A thread that ends early by pthread_exit must leave the lock first.
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *run(void *arg) {
  pthread_mutex_lock(&mutex);
  ++count;
#ifdef FAULT
  if (arg) pthread_exit(arg);
#endif
  pthread_mutex_unlock(&mutex);
  pthread_exit(arg);
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, run, &count);
  pthread_create(&b, NULL, run, NULL);
  void *result;
  pthread_join(a, &result);
  pthread_join(b, NULL);
  return result == &count ? 0 : 1;
}
