// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A thread that sees the flag may find both locks held: the attempts
// come before the releases.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int flag;
static void* holds(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_rwlock_wrlock(&other);
  atomic_store(&flag, 1);
  pthread_rwlock_unlock(&other);
  pthread_mutex_unlock(&mutex);
  return unused;
}
static void* tries(void* unused) {
  if (atomic_load(&flag) == 0) return unused;
  const int first = pthread_mutex_trylock(&mutex);
  const int second = pthread_rwlock_tryrdlock(&other);
#ifdef FAULT
  assert(first != EBUSY || second != EBUSY);
#endif
  if (second == 0) pthread_rwlock_unlock(&other);
  if (first == 0) pthread_mutex_unlock(&mutex);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, holds, NULL);
  pthread_create(&threads[1], NULL, tries, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
