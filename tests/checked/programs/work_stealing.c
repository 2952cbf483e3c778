// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Chase and Lev's deque with one item: the seq_cst fences order the
// owner's store of the bottom before its look at the top, against the thief's looks. With weaker
// fences both take the item: the owner sees two items and takes one without a compare-exchange.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define FENCE memory_order_acq_rel
#else
#define FENCE memory_order_seq_cst
#endif
static atomic_long top, bottom = 2;
static atomic_int taken[2];
static void owner(void) {
  const long b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
  atomic_store_explicit(&bottom, b, memory_order_relaxed);
  atomic_thread_fence(FENCE);
  long t = atomic_load_explicit(&top, memory_order_relaxed);
  if (t > b) {
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    return;
  }
  if (t == b) {
    const int won = atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst,
                                                            memory_order_relaxed);
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    if (!won) return;
  }
  assert(!atomic_exchange_explicit(&taken[b], 1, memory_order_relaxed));
}
static void *thief(void *arg) {
  for (int i = 0; i < 2; ++i) {
    long t = atomic_load_explicit(&top, memory_order_acquire);
    atomic_thread_fence(FENCE);
    const long b = atomic_load_explicit(&bottom, memory_order_acquire);
    if (t < b && atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst,
                                                         memory_order_relaxed))
      assert(!atomic_exchange_explicit(&taken[t], 1, memory_order_relaxed));
  }
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, NULL, thief, NULL);
  owner();
  pthread_join(a, NULL);
  return 0;
}
