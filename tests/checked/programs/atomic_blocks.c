// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A block of __VERIFIER_atomic_begin() and __VERIFIER_atomic_end()
// sees all of another one, or nothing, and blocks do not race.
#include <assert.h>
#include <genmc.h>
#include <pthread.h>
#include <stdatomic.h>
static int count;
static atomic_int first, second;
static void increment(void) {
  __VERIFIER_atomic_begin();
  count = count + 1;
  __VERIFIER_atomic_end();
}
static void* run(void* unused) {
#ifndef FAULT
  __VERIFIER_atomic_begin();
#endif
  first = 1;
  second = 1;
#ifndef FAULT
  __VERIFIER_atomic_end();
#endif
  increment();
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  __VERIFIER_atomic_begin();
  const int seen = first;
  const int then = second;
  __VERIFIER_atomic_end();
  assert(seen == then);
  increment();
  pthread_join(thread, NULL);
  assert(count == 2);
}
