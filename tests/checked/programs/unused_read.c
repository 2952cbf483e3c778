// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A read whose value is not used is a read (C11 5.1.2.4).
#include <pthread.h>
static int data;
static void *writer(void *arg) {
  data = 1;
  return arg;
}
static void *reader(void *arg) {
#ifdef FAULT
  const int unused = data;
  (void)unused;
#endif
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, writer, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
