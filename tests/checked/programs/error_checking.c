// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. An error-checking mutex tells its owner so; a usual one waits.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
int main(void) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
#ifndef FAULT
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
#endif
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &kind);
  pthread_mutex_lock(&mutex);
  assert(pthread_mutex_lock(&mutex) == EDEADLK);
  assert(pthread_mutex_unlock(&mutex) == 0);
  assert(pthread_mutex_unlock(&mutex) == EPERM);
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  assert(pthread_cond_wait(&never, &mutex) == EPERM);
  pthread_mutex_destroy(&mutex);
}
