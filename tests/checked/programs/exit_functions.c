// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Functions of atexit() run when the last thread has ended, in the
// reverse order of the requests (C11 7.22.4.2, 7.22.4.4). Two threads may ask in either order.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int data;
static int has_run;
static void last(void) { assert(has_run == 1); }
static void earlier(void) {
  assert(data == 1);
  has_run = 1;
}
static void* ask_first(void* unused) {
  atexit(&last);
  return unused;
}
static void* ask_second(void* unused) {
  atexit(&earlier);
  return unused;
}
static void* write(void* unused) {
  data = 1;
  return unused;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, &write, NULL);
#ifdef FAULT
  pthread_create(&threads[1], NULL, &ask_first, NULL);
  pthread_create(&threads[2], NULL, &ask_second, NULL);
#else
  ask_first(NULL);
  ask_second(NULL);
#endif
  pthread_exit(NULL);
}
