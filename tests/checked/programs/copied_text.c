// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The functions of <string.h> read and write the memory that they are
// given.
#include <assert.h>
#include <pthread.h>
#include <string.h>
static char text[32];
static void* run(void* unused) {
  strcpy(text, "hello");
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
#ifndef FAULT
  pthread_join(thread, NULL);
#endif
  assert(memcmp(text, "help", 3) <= 0 && strlen(text) <= 5);
}
