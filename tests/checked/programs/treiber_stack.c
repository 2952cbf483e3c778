// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The push releases the node, and the pop acquires it, before it reads the
// link. No node is used twice, so there is no ABA.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#ifdef FAULT
#define PUSH memory_order_relaxed
#else
#define PUSH memory_order_release
#endif
struct node {
  struct node *next;
  int value;
};
static struct node *_Atomic top;
static void *push(void *arg) {
  struct node *const made = malloc(sizeof *made);
  made->value = 7;
  made->next = atomic_load_explicit(&top, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&top, &made->next, made, PUSH,
                                                memory_order_relaxed)) {
  }
  return arg;
}
static void *pop(void *arg) {
  struct node *found = atomic_load_explicit(&top, memory_order_acquire);
  while (found && !atomic_compare_exchange_weak_explicit(&top, &found, found->next,
                                                         memory_order_acquire,
                                                         memory_order_acquire)) {
  }
  if (found) assert(found->value == 7);
  return arg;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, push, NULL);
  pthread_create(&threads[1], NULL, push, NULL);
  pthread_create(&threads[2], NULL, pop, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
