// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. GCC's __sync builtins are full barriers, but for
// __sync_lock_test_and_set(), which is an acquire.
#include <assert.h>
#include <pthread.h>
static int x, y, seen_x, seen_y;
static void mark(int* word) {
#ifdef FAULT
  __sync_lock_test_and_set(word, 1);
#else
  __sync_fetch_and_add(word, 1);
#endif
}
static void mark_sized(int* word) {
#ifdef FAULT
  __sync_lock_test_and_set_4(word, 1);
#else
  __sync_bool_compare_and_swap_4(word, 0, 1);
#endif
}
static void* run(void* unused) {
  mark_sized(&y);
  seen_x = __atomic_load_n(&x, __ATOMIC_RELAXED);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  mark(&x);
  seen_y = __atomic_load_n(&y, __ATOMIC_RELAXED);
  pthread_join(thread, 0);
  assert(seen_x == 1 || seen_y == 1);
}
