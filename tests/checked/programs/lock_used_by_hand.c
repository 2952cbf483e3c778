// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The code changes a lock's word itself, and may do so between the
// calls that take the lock and give it back.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_spinlock_t lock;
static atomic_int inside;
static void* holds(void* unused) {
  pthread_spin_lock(&lock);
  atomic_store_explicit(&inside, 1, memory_order_relaxed);
  pthread_spin_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_t thread;
  pthread_create(&thread, NULL, holds, NULL);
  if (atomic_load_explicit(&inside, memory_order_relaxed) == 1) {
    const int value = __atomic_fetch_add((int*)&lock, 0, __ATOMIC_RELAXED);
#ifdef FAULT
    assert(value == 0);
#else
    (void)value;
#endif
  }
  pthread_join(thread, NULL);
}
