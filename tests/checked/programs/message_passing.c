// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The acquire reads the release, so the store to data happens before
// the load of it. A relaxed flag gives no such edge, and the load may read 0.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define GIVE memory_order_relaxed
#else
#define GIVE memory_order_release
#endif
static atomic_int data, flag;
static void *writer(void *arg) {
  atomic_store_explicit(&data, 1, memory_order_relaxed);
  atomic_store_explicit(&flag, 1, GIVE);
  return arg;
}
static void *reader(void *arg) {
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1)
    assert(atomic_load_explicit(&data, memory_order_relaxed) == 1);
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
