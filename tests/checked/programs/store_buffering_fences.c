// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The two seq_cst fences have an order, and the load behind the later
// one sees the store before the earlier one. One acq_rel fence is not in that order.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define SECOND memory_order_acq_rel
#else
#define SECOND memory_order_seq_cst
#endif
static atomic_int x, y;
static int seen_x, seen_y;
static void *first(void *arg) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  seen_y = atomic_load_explicit(&y, memory_order_relaxed);
  return arg;
}
static void *second(void *arg) {
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  atomic_thread_fence(SECOND);
  seen_x = atomic_load_explicit(&x, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(seen_x || seen_y);
  return 0;
}
