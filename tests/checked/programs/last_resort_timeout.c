// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The owner of the mutex spins until the other thread has given up
// three times: while it spins, only a deadline can pass, so the turns of the spin may not be left
// out.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int has_given_up;
static void *waiter(void *arg) {
  struct timespec soon = {1, 0};
  for (int i = 0; i < 3; i++) pthread_mutex_timedlock(&mutex, &soon);
  atomic_store(&has_given_up, 1);
  return arg;
}
int main(void) {
  pthread_t other;
  pthread_mutex_lock(&mutex);
  pthread_create(&other, NULL, waiter, NULL);
  while (!atomic_load(&has_given_up)) {
  }
#ifdef FAULT
  assert(0);
#endif
  pthread_join(other, NULL);
  return 0;
}
