// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A worker exchanges a word for 0 again and again, and looks whether it is
// to stop. In most turns it changes nothing, so it waits until one of the words has another value.
// With FAULT nothing stops it.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int mail, stop;
static int letter;
static void *work(void *unused) {
  while (!atomic_load_explicit(&stop, memory_order_acquire)) {
    if (atomic_exchange_explicit(&mail, 0, memory_order_acquire)) ++letter;
  }
  return unused;
}
int main(void) {
  pthread_t worker;
  pthread_create(&worker, NULL, work, NULL);
  letter = 1;
  atomic_store_explicit(&mail, 1, memory_order_release);
#ifndef FAULT
  atomic_store_explicit(&stop, 1, memory_order_release);
#endif
  pthread_join(worker, NULL);
  return 0;
}
