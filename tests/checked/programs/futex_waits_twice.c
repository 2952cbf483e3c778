// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The value for which a thread sleeps may change without a wake, in the
// second of two waits as in the first.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static void* waits(void* unused) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
  atomic_store(&word, 2);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  atomic_store(&word, 1);
#ifndef FAULT
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
  pthread_join(thread, NULL);
}
