// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. strtok() keeps its place where the checker does not see it, so the loop
// seems to come back to where it was, and ends all the same.
#include <pthread.h>
#include <string.h>
static int verbose;
static char text[120];
static void *other(void *arg) {
#ifdef FAULT
  verbose = 1;
#endif
  return arg;
}
int main(void) {
  pthread_t thread;
  int found = 0;
  for (size_t i = 0; i + 1 < sizeof text; ++i) text[i] = i % 2 ? ' ' : 'a';
  pthread_create(&thread, NULL, other, NULL);
  for (char *each = strtok(text, " "); each; each = strtok(NULL, " ")) {
    if (verbose) found = 1;
  }
  pthread_join(thread, NULL);
  return found;
}
