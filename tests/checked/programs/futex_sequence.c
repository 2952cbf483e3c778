// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A condition variable is a number that each signal changes. A waiter that
// reads it after the unlock may sleep after the signal that it waits for.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int number;
static int items;
static void wait_for_signal(void) {
#ifdef FAULT
  pthread_mutex_unlock(&mutex);
  const int before = atomic_load(&number);
#else
  const int before = atomic_load(&number);
  pthread_mutex_unlock(&mutex);
#endif
  syscall(SYS_futex, &number, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
  pthread_mutex_lock(&mutex);
}
static void* consume(void* unused) {
  pthread_mutex_lock(&mutex);
  while (items == 0) wait_for_signal();
  --items;
  pthread_mutex_unlock(&mutex);
  return unused;
}
static void* produce(void* unused) {
  pthread_mutex_lock(&mutex);
  ++items;
  pthread_mutex_unlock(&mutex);
  atomic_fetch_add(&number, 1);
  syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, consume, NULL);
  pthread_create(&threads[1], NULL, produce, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
