// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A condition variable on which a thread sleeps must not end.
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_ready, waits;
static void* wait_for_it(void* unused) {
  pthread_mutex_lock(&guard);
  waits = 1;
  while (!is_ready) pthread_cond_wait(&changed, &guard);
  pthread_mutex_unlock(&guard);
  return unused;
}
int main(void) {
  pthread_t waiter;
  pthread_create(&waiter, NULL, wait_for_it, NULL);
  pthread_mutex_lock(&guard);
  is_ready = 1;
#ifdef FAULT
  const int ends = waits;
#else
  const int ends = 0;
  pthread_cond_broadcast(&changed);
#endif
  pthread_mutex_unlock(&guard);
  if (ends) pthread_cond_destroy(&changed);
  pthread_cond_broadcast(&changed);
  pthread_join(waiter, NULL);
  if (!ends) pthread_cond_destroy(&changed);
}
