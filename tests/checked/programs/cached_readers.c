// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Three threads read a cache under a read-write lock, and fill it under
// the same lock if it is empty. With FAULT they fill it while they have the lock for reading.
#include <pthread.h>
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static int cached;
static void *get(void *unused) {
  pthread_rwlock_rdlock(&guard);
  const int found = cached;
#ifdef FAULT
  if (!found) cached = 1;
#endif
  pthread_rwlock_unlock(&guard);
  if (found) return unused;
  pthread_rwlock_wrlock(&guard);
  if (!cached) cached = 1;
  pthread_rwlock_unlock(&guard);
  return unused;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, get, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
