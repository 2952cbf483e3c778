// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The producer's release of the tail publishes the slot; the consumer's
// release of the head gives it back. A relaxed tail publishes nothing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define GIVE memory_order_relaxed
#else
#define GIVE memory_order_release
#endif
enum { places = 1, items = 2 };
static int slots[places];
static atomic_uint head, tail;
static void *produce(void *arg) {
  for (unsigned i = 0; i < items; ++i) {
    while (i - atomic_load_explicit(&head, memory_order_acquire) == places) {
    }
    slots[i % places] = (int)i + 1;
    atomic_store_explicit(&tail, i + 1, GIVE);
  }
  return arg;
}
static void *consume(void *arg) {
  for (unsigned i = 0; i < items; ++i) {
    while (atomic_load_explicit(&tail, memory_order_acquire) == i) {
    }
    assert(slots[i % places] == (int)i + 1);
    atomic_store_explicit(&head, i + 1, memory_order_release);
  }
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, produce, NULL);
  pthread_create(&b, NULL, consume, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
