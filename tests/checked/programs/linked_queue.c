// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Michael and Scott's queue: the link to a new node is its publication.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#ifdef FAULT
#define LINK memory_order_relaxed
#else
#define LINK memory_order_release
#endif
struct node {
  struct node *_Atomic next;
  int value;
};
static struct node first;
static struct node *_Atomic head = &first;
static struct node *_Atomic tail = &first;
static void *enqueue(void *arg) {
  struct node *const made = arg;
  made->value = 5;
  for (;;) {
    struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
    struct node *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&last->next, &none, made, LINK,
                                                memory_order_acquire)) {
      atomic_compare_exchange_strong_explicit(&tail, &last, made, memory_order_release,
                                              memory_order_relaxed);
      return arg;
    }
    atomic_compare_exchange_strong_explicit(&tail, &last, none, memory_order_release,
                                            memory_order_relaxed);
  }
}
static void *dequeue(void *arg) {
  struct node *old = atomic_load_explicit(&head, memory_order_acquire);
  struct node *const next = atomic_load_explicit(&old->next, memory_order_acquire);
  if (next && atomic_compare_exchange_strong_explicit(&head, &old, next, memory_order_release,
                                                      memory_order_relaxed))
    assert(next->value == 5);
  return arg;
}
int main(void) {
  static struct node nodes[2];
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, enqueue, &nodes[0]);
  pthread_create(&threads[1], NULL, enqueue, &nodes[1]);
  pthread_create(&threads[2], NULL, dequeue, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
