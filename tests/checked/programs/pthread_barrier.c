// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. pthread_barrier_wait orders what comes before it in one thread before
// what comes after it in the other.
#include <pthread.h>
static pthread_barrier_t barrier;
static int data;
static void *writer(void *arg) {
  data = 1;
#ifndef FAULT
  pthread_barrier_wait(&barrier);
#endif
  return arg;
}
static void *reader(void *arg) {
#ifndef FAULT
  pthread_barrier_wait(&barrier);
#endif
  return data == 1 ? arg : NULL;
}
int main(void) {
  pthread_t a, b;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&a, NULL, writer, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
