// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A struct of 8 bytes changes as one by compare-exchange; two words
// that are changed one after the other are seen apart.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct pair {
  int left, right;
};
#ifdef FAULT
static atomic_int left, right;
#else
static _Atomic struct pair both;
#endif
static void *add(void *arg) {
#ifdef FAULT
  left++;
  right++;
#else
  struct pair old = atomic_load(&both), new;
  do {
    new = (struct pair){old.left + 1, old.right + 1};
  } while (!atomic_compare_exchange_weak(&both, &old, new));
#endif
  return arg;
}
static void *look(void *arg) {
#ifdef FAULT
  const int r = left, l = right;
  assert(r == l);
#else
  const struct pair seen = atomic_load(&both);
  assert(seen.left == seen.right);
#endif
  return arg;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, add, NULL);
  pthread_create(&threads[1], NULL, add, NULL);
  pthread_create(&threads[2], NULL, look, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
