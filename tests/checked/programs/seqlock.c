// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The reader's acquire fence orders its relaxed loads before the
// second look at the sequence; without it a torn pair may pass for a whole one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_uint sequence;
static atomic_int left, right;
static void *writer(void *arg) {
  atomic_store_explicit(&sequence, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&left, 1, memory_order_relaxed);
  atomic_store_explicit(&right, 1, memory_order_relaxed);
  atomic_store_explicit(&sequence, 2, memory_order_release);
  return arg;
}
static void *reader(void *arg) {
  const unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
  const int l = atomic_load_explicit(&left, memory_order_relaxed);
  const int r = atomic_load_explicit(&right, memory_order_relaxed);
#ifndef FAULT
  atomic_thread_fence(memory_order_acquire);
#endif
  if (before % 2 == 0 && atomic_load_explicit(&sequence, memory_order_relaxed) == before)
    assert(l == r);
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
