// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A mutex is destroyed before a thread that still needs it has ended.
#include <pthread.h>
static pthread_mutex_t mutex;
static void* run(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_mutex_init(&mutex, NULL);
  pthread_create(&thread, NULL, run, NULL);
  run(NULL);
#ifndef FAULT
  pthread_join(thread, NULL);
#endif
  pthread_mutex_destroy(&mutex);
}
