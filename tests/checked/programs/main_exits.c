// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. After pthread_exit() in main() the program goes on until its last thread
// ends, a detached one too.
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void* run(void* unused) {
  pthread_mutex_lock(&mutex);
#ifdef FAULT
  for (;;) pthread_cond_wait(&never, &mutex);
#endif
  pthread_mutex_unlock(&mutex);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &run, NULL);
  pthread_detach(thread);
  pthread_exit(NULL);
}
