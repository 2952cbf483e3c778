// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A thread is joined once.
#include <pthread.h>
static void* run(void* unused) {
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
#ifdef FAULT
  pthread_join(thread, NULL);
#endif
}
