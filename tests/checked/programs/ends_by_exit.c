// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. exit() runs the functions of atexit() while other threads go on (C11
// 7.22.4.4). The variables of main() last until then, and a thread that waits forever just ends.
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int count;
static void last(void) {
#ifndef FAULT
  pthread_mutex_lock(&mutex);
#endif
  ++count;
#ifndef FAULT
  pthread_mutex_unlock(&mutex);
#endif
}
static void* run(void* of_main) {
  pthread_mutex_lock(&mutex);
  ++*(int*)of_main;
  ++count;
  for (;;) pthread_cond_wait(&never, &mutex);
}
int main(void) {
  int own = 0;
  pthread_t thread;
  atexit(&last);
  pthread_create(&thread, NULL, &run, &own);
  exit(0);
}
