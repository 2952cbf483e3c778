// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The last philosopher begins with the other fork, so no circle of them
// can wait for one another.
#include <pthread.h>
#define COUNT 6
static pthread_mutex_t forks[COUNT];
static int meals[COUNT];
static void* eats(void* own) {
  const int self = (int)((int*)own - meals);
  int first = self;
  int second = (self + 1) % COUNT;
#ifndef FAULT
  if (self == COUNT - 1) {
    first = 0;
    second = self;
  }
#endif
  pthread_mutex_lock(&forks[first]);
  pthread_mutex_lock(&forks[second]);
  ++meals[self];
  pthread_mutex_unlock(&forks[second]);
  pthread_mutex_unlock(&forks[first]);
  return own;
}
int main(void) {
  pthread_t threads[COUNT];
  for (int i = 0; i < COUNT; ++i) pthread_mutex_init(&forks[i], NULL);
  for (int i = 0; i < COUNT; ++i) pthread_create(&threads[i], NULL, eats, &meals[i]);
  for (int i = 0; i < COUNT; ++i) pthread_join(threads[i], NULL);
}
