// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A mutex is destroyed while a thread holds it.
#include <pthread.h>
int main(void) {
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, NULL);
  pthread_mutex_lock(&mutex);
#ifndef FAULT
  pthread_mutex_unlock(&mutex);
#endif
  pthread_mutex_destroy(&mutex);
}
