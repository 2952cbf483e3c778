// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. happens-before is transitive over the thread between. A relaxed store
// there does not pass on what that thread has acquired.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define PASS_ON memory_order_relaxed
#else
#define PASS_ON memory_order_release
#endif
static int data;
static atomic_int x, y;
static void *writer(void *arg) {
  data = 1;
  atomic_store_explicit(&x, 1, memory_order_release);
  return arg;
}
static void *between(void *arg) {
  if (atomic_load_explicit(&x, memory_order_acquire)) atomic_store_explicit(&y, 1, PASS_ON);
  return arg;
}
static void *reader(void *arg) {
  if (atomic_load_explicit(&y, memory_order_acquire)) data = 2;
  return arg;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, between, NULL);
  pthread_create(&threads[2], NULL, reader, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
