// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A mutex is used after its destruction.
#include <pthread.h>
int main(void) {
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, NULL);
  pthread_mutex_destroy(&mutex);
#ifndef FAULT
  pthread_mutex_init(&mutex, NULL);
#endif
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
