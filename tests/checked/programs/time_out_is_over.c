// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. After a wait that its limit has ended, the clock shows the limit or
// later (POSIX, pthread_cond_timedwait). It may do so after another wait, too.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_ready;
static void* set(void* unused) {
  pthread_mutex_lock(&mutex);
  is_ready = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  return unused;
}
int main(void) {
  pthread_t setter;
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 60;
  pthread_create(&setter, NULL, set, NULL);
  pthread_mutex_lock(&mutex);
  int result = 0;
  while (!is_ready && result == 0) result = pthread_cond_timedwait(&changed, &mutex, &limit);
  pthread_mutex_unlock(&mutex);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
#ifdef FAULT
  assert((result == ETIMEDOUT) == (now.tv_sec >= limit.tv_sec));
#else
  assert(result != ETIMEDOUT || now.tv_sec >= limit.tv_sec);
#endif
  pthread_join(setter, NULL);
}
