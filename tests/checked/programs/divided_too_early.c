// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A number by which another thread divides may still be zero.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_int buckets;
static void* find(void* unused) {
  const int number = atomic_load_explicit(&buckets, memory_order_relaxed);
#ifndef FAULT
  if (number != 0)
#endif
    assert(100 % number == 2);
  return unused;
}
int main(void) {
  pthread_t finder;
  pthread_create(&finder, NULL, find, NULL);
  atomic_store_explicit(&buckets, 7, memory_order_relaxed);
  pthread_join(finder, NULL);
}
