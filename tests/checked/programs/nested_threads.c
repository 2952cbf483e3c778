// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A thread that another thread creates and joins is ordered with both.
#include <pthread.h>
static int data;
static void *inner(void *arg) {
  data = data + 1;
  return arg;
}
static void *outer(void *arg) {
  pthread_t mine;
  data = 1;
  pthread_create(&mine, NULL, inner, NULL);
#ifdef FAULT
  data = 2;
#endif
  pthread_join(mine, NULL);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, NULL, outer, NULL);
  pthread_join(a, NULL);
  return data == 2 ? 0 : 1;
}
