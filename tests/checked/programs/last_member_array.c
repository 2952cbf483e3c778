// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. An array at the end of a structure has its length, unless that is
// 1, as before C99. With FAULT the second push writes behind the array.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct text {
  int length;
  char letters[1];
};
struct stack {
  atomic_uint count;
  int items[2];
};
static struct {
  struct stack stack;
  int neighbour;
} all;
static void *push(void *to) {
  struct stack *const stack = to;
  stack->items[atomic_fetch_add(&stack->count, 1)] = 1;
  return NULL;
}
int main(void) {
  struct text *const text = malloc(sizeof *text + 8);
  text->letters[3] = 'a';
  free(text);
#ifdef FAULT
  atomic_store(&all.stack.count, 1);
#endif
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, push, &all.stack);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return all.neighbour;
}
