// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The last reader's decrement releases its reads to the writer.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define LEAVE memory_order_relaxed
#else
#define LEAVE memory_order_release
#endif
static atomic_int state;  // readers, or -1 for a writer
static int data;
static void *reader(void *arg) {
  int seen = atomic_load_explicit(&state, memory_order_relaxed);
  do {
    while (seen < 0) seen = atomic_load_explicit(&state, memory_order_relaxed);
  } while (!atomic_compare_exchange_weak_explicit(&state, &seen, seen + 1, memory_order_acquire,
                                                  memory_order_relaxed));
  assert(data == 0 || data == 1);
  atomic_fetch_sub_explicit(&state, 1, LEAVE);
  return arg;
}
static void *writer(void *arg) {
  int free = 0;
  while (!atomic_compare_exchange_weak_explicit(&state, &free, -1, memory_order_acquire,
                                                memory_order_relaxed))
    free = 0;
  data = 1;
  atomic_store_explicit(&state, 0, memory_order_release);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, reader, NULL);
  pthread_create(&b, NULL, writer, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
