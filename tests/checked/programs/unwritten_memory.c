// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Memory of malloc() is not zero: the first node has no end.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node {
  struct node* next;
};
static _Atomic(struct node*) top;
static void* push(void* unused) {
#ifdef FAULT
  struct node* made = malloc(sizeof *made);
#else
  struct node* made = calloc(1, sizeof *made);
#endif
  atomic_store_explicit(&top, made, memory_order_release);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, push, NULL);
  struct node* found = atomic_load_explicit(&top, memory_order_acquire);
  if (found != NULL) assert(found->next == NULL);
  pthread_join(thread, NULL);
}
