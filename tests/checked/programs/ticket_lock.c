// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The owner's store publishes to the thread whose turn it gives; a relaxed
// look at the turn does not acquire it.
#include <genmc.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define LOOK memory_order_relaxed
#else
#define LOOK memory_order_acquire
#endif
static atomic_uint next, turn;
static int count;
static void *add(void *arg) {
  const unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
  __VERIFIER_loop_begin();
  while (atomic_load_explicit(&turn, LOOK) != mine) {
  }
  ++count;
  atomic_store_explicit(&turn, mine + 1, memory_order_release);
  return arg;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
