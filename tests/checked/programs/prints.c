// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The result does not depend on what a program prints and reads.
#include <pthread.h>
#include <stdio.h>
static int data;
static void* run(void* unused) {
  data = 1;
  printf("written\n");
  return unused;
}
int main(void) {
  pthread_t thread;
  int number = 0;
  pthread_create(&thread, NULL, run, NULL);
#ifdef FAULT
  printf("%d\n", data);
#endif
  pthread_join(thread, NULL);
  printf("%d %d\n", data, scanf("%d", &number));
  fflush(stdout);
}
