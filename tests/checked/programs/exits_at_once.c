// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Any thread may end the program: by exit() with the functions of
// atexit(), by _Exit() without them (C11 7.22.4.4 and 5).
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int is_ready;
static void last(void) {
  assert(is_ready);
}
static void* run(void* unused) {
#ifdef FAULT
  exit(0);
#else
  _Exit(0);
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
  atexit(&last);
  pthread_create(&thread, NULL, &run, NULL);
  pthread_join(thread, NULL);
  assert(0);
}
