// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The second thread keeps the mutex, and others go on while the first one waits for it.
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int number;
static void* takes(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}
static void* keeps(void* unused) {
  pthread_mutex_lock(&mutex);
#ifndef FAULT
  pthread_mutex_unlock(&mutex);
#endif
  return unused;
}
static void* counts(void* unused) {
  for (int i = 0; i < 3; ++i) atomic_fetch_add(&number, 1);
  return unused;
}
int main(void) {
  pthread_t threads[4];
  pthread_create(&threads[0], NULL, takes, NULL);
  pthread_create(&threads[1], NULL, keeps, NULL);
  pthread_create(&threads[2], NULL, counts, NULL);
  pthread_create(&threads[3], NULL, counts, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}
