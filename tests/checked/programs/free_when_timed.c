// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. POSIX: a function with a time limit does not fail if the lock or the
// semaphore is free.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int taken;
static void* takes(void* unused) {
  struct timespec limit = {0, 0};
  const int result = pthread_mutex_timedlock(&mutex, &limit);
#ifdef FAULT
  assert(result == 0);  // the other thread may hold it
#endif
  if (result == 0) {
    ++taken;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}
int main(void) {
  struct timespec limit = {0, 0};
  sem_init(&semaphore, 0, 1);
  assert(sem_timedwait(&semaphore, &limit) == 0);
  assert(pthread_rwlock_timedrdlock(&rwlock, &limit) == 0);
  pthread_rwlock_unlock(&rwlock);
  assert(pthread_rwlock_timedwrlock(&rwlock, &limit) == 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, takes, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(taken > 0);
}
