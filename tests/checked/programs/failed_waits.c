// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Loops of attempts that fail: the mutex is taken, and the semaphore is 0.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static void* run(void* unused) {
  while (pthread_mutex_trylock(&mutex) != 0) {
  }
  pthread_mutex_unlock(&mutex);
  while (sem_trywait(&semaphore) != 0) {
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  sem_init(&semaphore, 0, 0);
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, run, NULL);
  pthread_mutex_unlock(&mutex);
#ifndef FAULT
  sem_post(&semaphore);
#endif
  pthread_join(thread, NULL);
}
