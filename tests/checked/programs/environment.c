// SPDX-License-Identifier: Apache-2.0
// assertion; with FAULT assertion. The checker does not see what setenv() and getenv() share. So the
// search may leave out no order of the two calls, whichever of the two outcomes is claimed.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static const char *found;
static void *sets(void *unused) {
  setenv("LOCKYARD_PROGRAM", "1", 1);
  return unused;
}
static void *gets(void *unused) {
  found = getenv("LOCKYARD_PROGRAM");
  return unused;
}
int main(void) {
  pthread_t threads[2];
  unsetenv("LOCKYARD_PROGRAM");
  pthread_create(&threads[0], NULL, sets, NULL);
  pthread_create(&threads[1], NULL, gets, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
#ifdef FAULT
  assert(found);
#else
  assert(!found);
#endif
  return 0;
}
