// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The kernel executes a full barrier before it looks at the word, so the
// thread that raises the count may look for waiters after that.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int count;
static atomic_int waiters;
static void* takes(void* unused) {
#ifndef FAULT
  atomic_fetch_add(&waiters, 1);
#endif
  int found = 0;
  do {
    syscall(SYS_futex, &count, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    found = atomic_load(&count);
#ifdef FAULT
    atomic_fetch_add(&waiters, 1);
#endif
  } while (found == 0 || !atomic_compare_exchange_strong(&count, &found, found - 1));
  return unused;
}
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, takes, NULL);
  for (int i = 0; i < 2; ++i) {
    atomic_fetch_add(&count, 1);
    if (atomic_load(&waiters) != 0) syscall(SYS_futex, &count, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
