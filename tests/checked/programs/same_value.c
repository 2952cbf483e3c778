// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A write of the value that was there is a write, and a compiler would
// leave it out.
#include <pthread.h>
static int data;
static void* run(void* unused) {
  int seen = data;
  data = seen;
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
#ifndef FAULT
  pthread_join(thread, NULL);
#endif
  int mine = data;
  return mine;
}
