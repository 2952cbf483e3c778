// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A lock whose waiters look at two words. Before the read-modify-write that
// succeeds, the load has seen another value than the read-modify-write before it, so the thread has
// to try again although it is where it was.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define ORDER memory_order_relaxed
#else
#define ORDER memory_order_release
#endif
static atomic_int taken, stop;
static int counter;
static int lock(void) {
  for (;;) {
    while (atomic_load_explicit(&taken, memory_order_relaxed)) {
      if (atomic_load_explicit(&stop, memory_order_relaxed)) return 0;
    }
    if (!atomic_fetch_or_explicit(&taken, 1, memory_order_acquire)) return 1;
  }
}
static void *work(void *unused) {
  if (!lock()) return unused;
  ++counter;
  atomic_store_explicit(&taken, 0, ORDER);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
