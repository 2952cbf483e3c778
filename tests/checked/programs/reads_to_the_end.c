// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Each turn reads one more letter of a file, which the checker does
// not see: a loop that looks at the same word again is not where it was.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int stop;
static char text[] = "abc";
static void* stops(void* unused) {
  atomic_store(&stop, 1);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, stops, NULL);
  FILE* const file = fmemopen(text, sizeof text - 1, "r");
  int was_stopped = 0;
  while (fgetc(file) != EOF) {
    was_stopped |= atomic_load(&stop);
  }
  fclose(file);
#ifdef FAULT
  assert(was_stopped);
#else
  (void)was_stopped;
#endif
  pthread_join(thread, NULL);
}
