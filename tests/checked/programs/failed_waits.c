// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Loops that wait without sleeping: the futex has another value than the
// code expects, and the mutex is taken.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int word = 2;
static void* run(void* unused) {
  while (pthread_mutex_trylock(&mutex) != 0) {
  }
  pthread_mutex_unlock(&mutex);
  while (atomic_load(&word) != 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, run, NULL);
  pthread_mutex_unlock(&mutex);
#ifndef FAULT
  atomic_store(&word, 0);
#endif
  pthread_join(thread, NULL);
}
