// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A weak compare-exchange that fails for no reason is tried again, with
// the value that a load finds; such a loop waits for nothing, so it does not hang. An exchange of the
// loaded value plus one loses an update.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int count;
static void *add(void *arg) {
  int seen;
#ifdef FAULT
  seen = atomic_load_explicit(&count, memory_order_relaxed);
  atomic_exchange_explicit(&count, seen + 1, memory_order_relaxed);
#else
  do {
    seen = atomic_load_explicit(&count, memory_order_relaxed);
  } while (!atomic_compare_exchange_weak_explicit(&count, &seen, seen + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
#endif
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, add, NULL);
  pthread_create(&b, NULL, add, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(count == 2);
  return 0;
}
