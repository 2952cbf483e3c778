// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A ticket lock whose threads look at the turn in atomic blocks. A turn of
// that loop changes nothing, so a thread waits until a block changes what it has read.
#include <assert.h>
#include <genmc.h>
#include <pthread.h>
static unsigned next, turn, inside;
static unsigned take(void) {
  __VERIFIER_atomic_begin();
  const unsigned mine = next++;
  __VERIFIER_atomic_end();
  return mine;
}
static unsigned served(void) {
  __VERIFIER_atomic_begin();
  const unsigned now = turn;
  __VERIFIER_atomic_end();
  return now;
}
static void* run(void* unused) {
  const unsigned mine = take();
  while (served() != mine) {
  }
  assert(inside++ == 0);
  --inside;
  __VERIFIER_atomic_begin();
#ifdef FAULT
  if (mine != 1)
#endif
    ++turn;
  __VERIFIER_atomic_end();
  return unused;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}
