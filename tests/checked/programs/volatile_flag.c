// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. volatile does not synchronise: two accesses, one of them a write, race.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
static volatile int flag;
#else
static volatile atomic_int flag;
#endif
static void *writer(void *arg) {
  flag = 1;
  return arg;
}
static void *reader(void *arg) {
  return flag ? arg : NULL;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, writer, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
