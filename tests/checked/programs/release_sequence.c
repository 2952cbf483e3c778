// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A read-modify-write of another thread continues the release sequence. A
// store does not, not even one of the thread that released (C++20, C23).
#include <pthread.h>
#include <stdatomic.h>
static int data;
static atomic_int flag;
static void *writer(void *arg) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
#ifdef FAULT
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
#endif
  return arg;
}
static void *counter(void *arg) {
  int expected = 1;
  atomic_compare_exchange_strong_explicit(&flag, &expected, 2, memory_order_relaxed,
                                          memory_order_relaxed);
  return arg;
}
static void *reader(void *arg) {
  if (atomic_load_explicit(&flag, memory_order_acquire) == 2) data = 2;
  return arg;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, counter, NULL);
  pthread_create(&threads[2], NULL, reader, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
