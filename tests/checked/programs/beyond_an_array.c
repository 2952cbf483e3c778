// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The second thread that takes a place takes one behind the array.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define PLACES 1
#else
#define PLACES 2
#endif
static int places[PLACES];
static atomic_int taken;
static void* run(void* unused) {
  places[atomic_fetch_add(&taken, 1)] = 1;
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  run(NULL);
  pthread_join(thread, NULL);
}
