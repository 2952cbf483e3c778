// SPDX-License-Identifier: Apache-2.0

// Prints the nanoseconds of an uncontended pair of pthread_mutex_lock and pthread_mutex_unlock: the
// median of 2,001 chunks. For field_kit_costs.py.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { chunks = 2001, pairs_in_chunk = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double costs[chunks];

static void* nothing(void* argument) {
  return argument;
}
static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(void) {
  pthread_t other;  // glibc leaves atomics out until a second thread has existed
  pthread_create(&other, NULL, nothing, NULL);
  pthread_join(other, NULL);
  for (int i = 0; i < chunks; ++i) {
    const double begin = now_ns();
    for (int k = 0; k < pairs_in_chunk; ++k) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
    costs[i] = (now_ns() - begin) / pairs_in_chunk;
  }
  qsort(costs, chunks, sizeof *costs, by_size);
  printf("%.3f\n", costs[chunks / 2]);
  return 0;
}
