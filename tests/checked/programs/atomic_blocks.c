// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. No step of another thread divides a block of __VERIFIER_atomic_begin()
// and
// __VERIFIER_atomic_end(); without them the increments race.
#include <assert.h>
#include <genmc.h>
#include <pthread.h>
static int count;
static void* run(void* unused) {
#ifndef FAULT
  __VERIFIER_atomic_begin();
#endif
  count = count + 1;
#ifndef FAULT
  __VERIFIER_atomic_end();
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  run(NULL);
  pthread_join(thread, NULL);
  assert(count == 2);
}
