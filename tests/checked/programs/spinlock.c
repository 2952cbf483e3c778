// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The exchange that takes the lock acquires what the release before it
// gave. Without release the next owner's accesses race with the last one's.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define GIVE memory_order_relaxed
#else
#define GIVE memory_order_release
#endif
static atomic_flag taken = ATOMIC_FLAG_INIT;
static int count;
static void *add(void *arg) {
  while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) {
  }
  ++count;
  atomic_flag_clear_explicit(&taken, GIVE);
  return arg;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return count == 3 ? 0 : 1;
}
