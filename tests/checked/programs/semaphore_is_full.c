// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A semaphore counts up to SEM_VALUE_MAX: of two sem_post() that find
// one less there, one fails (POSIX, sem_post(): EOVERFLOW).
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t semaphore;

static void* post(void* argument) {
  const int result = sem_post(&semaphore);
#ifdef FAULT
  assert(result == 0);
#else
  assert(result == 0 || (result == -1 && errno == EOVERFLOW));
#endif
  return argument;
}

int main(void) {
  assert(sem_init(&semaphore, 0, SEM_VALUE_MAX + 1U) == -1 && errno == EINVAL);
  assert(sem_init(&semaphore, 0, SEM_VALUE_MAX - 1) == 0);
  pthread_t one, two;
  pthread_create(&one, NULL, post, NULL);
  pthread_create(&two, NULL, post, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  int value = 0;
  sem_getvalue(&semaphore, &value);
  assert(value == SEM_VALUE_MAX);
}
