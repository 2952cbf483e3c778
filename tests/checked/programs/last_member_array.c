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
static struct {
  atomic_uint count;
  int items[2];
} stack = {.items = {0, 0}};
static int neighbour;
static void *push(void *unused) {
  stack.items[atomic_fetch_add(&stack.count, 1)] = 1;
  return unused;
}
int main(void) {
  struct text *const text = malloc(sizeof *text + 8);
  text->letters[3] = 'a';
  free(text);
#ifdef FAULT
  atomic_store(&stack.count, 1);
#endif
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, push, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return neighbour;
}
