// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Each call of a function whose name begins with __VERIFIER_atomic_ is
// one step, with the calls in it, and such steps do not race with each other.
#include <assert.h>
#include <pthread.h>
void __VERIFIER_assume(int holds);
static int taken;
static _Atomic int data;
static void __VERIFIER_atomic_set(int value) { taken = value; }
static void __VERIFIER_atomic_acquire(void) {
  __VERIFIER_assume(taken == 0);
  __VERIFIER_atomic_set(1);
}
#ifdef FAULT
static int is_free(void);
static int __VERIFIER_atomic_look(void) { return taken == 0; }
static int is_free(void) { return __VERIFIER_atomic_look(); }
#endif
static void* run(void* unused) {
#ifdef FAULT
  __VERIFIER_assume(is_free());
  __VERIFIER_atomic_set(1);
#else
  __VERIFIER_atomic_acquire();
#endif
  data = 1;
  assert(data == 1);
  data = 0;
  __VERIFIER_atomic_set(0);
  return unused;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, 0);
  run(0);
  pthread_join(other, 0);
  return 0;
}
