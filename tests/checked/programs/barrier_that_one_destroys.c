// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. The thread that pthread_barrier_wait() chooses may destroy the
// barrier and free it at once, although others have not returned yet; but all must have arrived.
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t* barrier;
static int results[2];
static void* run(void* slot) {
  *(int*)slot = 1;
  const int status = pthread_barrier_wait(barrier);
  if (status == PTHREAD_BARRIER_SERIAL_THREAD) {
    pthread_barrier_destroy(barrier);
    free(barrier);
  }
#ifdef FAULT
  else {
    pthread_barrier_wait(barrier);
  }
#endif
  return slot;
}
int main(void) {
  pthread_t thread;
  barrier = malloc(sizeof *barrier);
  pthread_barrier_init(barrier, NULL, 2);
  pthread_create(&thread, NULL, run, &results[0]);
  run(&results[1]);
  pthread_join(thread, NULL);
  return 0;
}
