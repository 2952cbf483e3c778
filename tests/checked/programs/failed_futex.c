// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A loop that waits without sleeping: the futex has another value than the
// code expects.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word = 2;
static void* run(void* unused) {
  while (atomic_load(&word) != 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
#ifndef FAULT
  atomic_store(&word, 0);
#endif
  pthread_join(thread, NULL);
}
