// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Both values of the condition are tried, and the assumption drops the
// executions that the program does not ask about.
#include <assert.h>
#include <genmc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
extern bool __VERIFIER_nondet_bool(void);
static atomic_int x;
static void *writer(void *arg) {
  const int value = __VERIFIER_nondet_int();
  __VERIFIER_assume(value > 0);
  if (__VERIFIER_nondet_bool()) atomic_store_explicit(&x, value, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, NULL, writer, NULL);
  pthread_join(a, NULL);
#ifdef FAULT
  assert(x > 0);
#else
  assert(x >= 0);
#endif
  return 0;
}
