// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A queue lock whose nodes are local variables: nothing sets the link
// of a node to null, so its owner reads memory that nothing has written.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
struct node {
  _Atomic(struct node*) next;
  atomic_int is_waiting;
};
static _Atomic(struct node*) tail;
static int count;
static void* add(void* unused) {
  struct node mine;
#ifndef FAULT
  atomic_store_explicit(&mine.next, NULL, memory_order_relaxed);
#endif
  atomic_store_explicit(&mine.is_waiting, 1, memory_order_relaxed);
  struct node* before = atomic_exchange_explicit(&tail, &mine, memory_order_acq_rel);
  if (before != NULL) {
    atomic_store_explicit(&before->next, &mine, memory_order_release);
    while (atomic_load_explicit(&mine.is_waiting, memory_order_acquire)) {
    }
  }
  ++count;
  struct node* after = atomic_load_explicit(&mine.next, memory_order_acquire);
  if (after == NULL) {
    struct node* last = &mine;
    if (atomic_compare_exchange_strong_explicit(&tail, &last, NULL, memory_order_release,
                                                memory_order_relaxed)) {
      return unused;
    }
    while ((after = atomic_load_explicit(&mine.next, memory_order_acquire)) == NULL) {
    }
  }
  atomic_store_explicit(&after->is_waiting, 0, memory_order_release);
  return unused;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, add, NULL);
  add(NULL);
  pthread_join(other, NULL);
  assert(count == 2);
}
