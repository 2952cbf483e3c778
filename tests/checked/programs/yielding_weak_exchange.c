// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The same with sched_yield between the attempts; with FAULT the thread
// waits for a value that no thread writes.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int state;
static void *turn(void *arg) {
  for (;;) {
    int seen = atomic_load_explicit(&state, memory_order_relaxed);
#ifdef FAULT
    seen = 2;
#endif
    if (atomic_compare_exchange_weak_explicit(&state, &seen, 1, memory_order_relaxed,
                                              memory_order_relaxed))
      return arg;
    sched_yield();
  }
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, turn, NULL);
  pthread_create(&b, NULL, turn, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
