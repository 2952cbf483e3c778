// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Each thread has its own copy of a _Thread_local variable; a static one is
// shared.
#include <pthread.h>
#ifdef FAULT
static int mine;
#else
static _Thread_local int mine;
#endif
static void *run(void *arg) {
  for (int i = 0; i < 2; ++i) ++mine;
  return mine == 2 ? arg : NULL;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, run, NULL);
  pthread_create(&b, NULL, run, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
