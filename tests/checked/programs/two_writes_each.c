// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. By seq_cst one of the four stores is the last of all, so both words
// cannot end with their first values. Relaxed stores allow it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define WRITE memory_order_relaxed
#else
#define WRITE memory_order_seq_cst
#endif
static atomic_int x, y;
static void *first(void *arg) {
  atomic_store_explicit(&x, 1, WRITE);
  atomic_store_explicit(&y, 2, WRITE);
  return arg;
}
static void *second(void *arg) {
  atomic_store_explicit(&y, 1, WRITE);
  atomic_store_explicit(&x, 2, WRITE);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(!(atomic_load(&x) == 1 && atomic_load(&y) == 1));
  return 0;
}
