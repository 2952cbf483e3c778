// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A detached thread may ask for a call at the program's end before or
// after main() returns (C11 7.22.4.2); a call that runs comes after the request for it. With FAULT
// the call fails.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#ifdef FAULT
enum { expected = 0 };
#else
enum { expected = 1 };
#endif
static int data;
static void at_end(void) { assert(data == expected); }
static void* ask(void* unused) {
  data = 1;
  atexit(&at_end);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &ask, NULL);
  pthread_detach(thread);
}
