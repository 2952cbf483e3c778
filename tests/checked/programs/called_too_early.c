// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A function is called through a pointer that may not be set yet.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
static _Atomic(int (*)(int)) shared;
static int twice(int number) { return 2 * number; }
static void* call(void* unused) {
  int (*found)(int) = atomic_load_explicit(&shared, memory_order_acquire);
#ifndef FAULT
  if (found != NULL)
#endif
    assert(found(3) == 6);
  return unused;
}
int main(void) {
  pthread_t caller;
  pthread_create(&caller, NULL, call, NULL);
  atomic_store_explicit(&shared, twice, memory_order_release);
  pthread_join(caller, NULL);
}
