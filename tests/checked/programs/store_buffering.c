// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. In the total order of seq_cst operations one store comes first, so
// the other thread's load reads it. Release and acquire give no such order: both may read 0.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define WRITE memory_order_release
#define READ memory_order_acquire
#else
#define WRITE memory_order_seq_cst
#define READ memory_order_seq_cst
#endif
static atomic_int x, y;
static int seen_x, seen_y;
static void *first(void *arg) {
  atomic_store_explicit(&x, 1, WRITE);
  seen_y = atomic_load_explicit(&y, READ);
  return arg;
}
static void *second(void *arg) {
  atomic_store_explicit(&y, 1, WRITE);
  seen_x = atomic_load_explicit(&x, READ);
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
