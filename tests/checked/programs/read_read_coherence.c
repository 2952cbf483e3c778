// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Two reads of one word by one thread never go back in modification
// order, whatever their order. With two words there is no such rule.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int words[2];
#ifdef FAULT
#define OTHER 1
#else
#define OTHER 0
#endif
static void *writer(void *arg) {
  atomic_store_explicit(&words[OTHER], 1, memory_order_relaxed);
  atomic_store_explicit(&words[0], 2, memory_order_relaxed);
  return arg;
}
static void *reader(void *arg) {
  const int first = atomic_load_explicit(&words[0], memory_order_relaxed);
  const int second = atomic_load_explicit(&words[OTHER], memory_order_relaxed);
  if (first == 2) assert(second != 0);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, writer, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
