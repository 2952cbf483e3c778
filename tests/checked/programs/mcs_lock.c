// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The exchange of the tail releases the node's null link. Without release
// the successor's link may come before that null in modification order, so both wait forever.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#ifdef FAULT
#define ENTER memory_order_acquire
#else
#define ENTER memory_order_acq_rel
#endif
struct node {
  struct node *_Atomic next;
  atomic_int waits;
};
static struct node *_Atomic tail;
static struct node nodes[2];
static int count;
static void *add(void *arg) {
  struct node *const mine = arg;
  atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&mine->waits, 1, memory_order_relaxed);
  struct node *const before = atomic_exchange_explicit(&tail, mine, ENTER);
  if (before) {
    atomic_store_explicit(&before->next, mine, memory_order_release);
    while (atomic_load_explicit(&mine->waits, memory_order_acquire)) {
    }
  }
  ++count;
  struct node *expected = mine;
  if (!atomic_load_explicit(&mine->next, memory_order_acquire)) {
    if (atomic_compare_exchange_strong_explicit(&tail, &expected, NULL, memory_order_release,
                                                memory_order_relaxed))
      return arg;
    while (!atomic_load_explicit(&mine->next, memory_order_acquire)) {
    }
  }
  atomic_store_explicit(&atomic_load_explicit(&mine->next, memory_order_relaxed)->waits, 0,
                        memory_order_release);
  return arg;
}
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, &nodes[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
