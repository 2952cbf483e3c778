// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. C11 5.1.2.4: memset() writes without an atomic access, and an atomic load
// that it does not happen before races with it, even if an atomic store comes after it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static struct {
  atomic_int ready;
  int data;
} shared;
static void* reader(void* unused) {
  if (atomic_load_explicit(&shared.ready, memory_order_acquire) == 1) assert(shared.data == 0);
  return unused;
}
int main(void) {
  pthread_t thread;
#ifndef FAULT
  memset(&shared, 0, sizeof shared);
#endif
  pthread_create(&thread, NULL, &reader, NULL);
#ifdef FAULT
  memset(&shared, 0, sizeof shared);
#endif
  atomic_store_explicit(&shared.ready, 1, memory_order_release);
  pthread_join(thread, NULL);
}
