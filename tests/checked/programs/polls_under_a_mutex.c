// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A producer and a consumer look under a mutex whether the place is full,
// until it is as they need it; one of them sleeps in between. With FAULT there is one item too few.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int place;
static void put(int item) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int is_free = place == 0;
    if (is_free) place = item;
    pthread_mutex_unlock(&mutex);
    if (is_free) return;
    usleep(100);
  }
}
static int take(void) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int item = place;
    if (item != 0) place = 0;
    pthread_mutex_unlock(&mutex);
    if (item != 0) return item;
  }
}
static void* produce(void* unused) {
  put(1);
#ifndef FAULT
  put(2);
#endif
  return unused;
}
int main(void) {
  pthread_t producer;
  pthread_create(&producer, NULL, produce, NULL);
  assert(take() == 1);
  assert(take() == 2);
  pthread_join(producer, NULL);
}
