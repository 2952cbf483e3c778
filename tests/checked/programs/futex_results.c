// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A wake returns how many threads it has woken: none if the sleeper
// has not fallen asleep yet. A function between the call and its caller passes the result on.
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static long futex(int operation, int value) {
  return syscall(SYS_futex, &word, operation, value, NULL, NULL, 0);
}
static long wake(void) { return futex(FUTEX_WAKE_PRIVATE, 1); }
static void* sleeps(void* unused) {
  while (atomic_load(&word) == 0) futex(FUTEX_WAIT_PRIVATE, 0);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, sleeps, NULL);
  atomic_store(&word, 1);
  const long woken = wake();
#ifdef FAULT
  assert(woken == 1);
#else
  assert(woken == 0 || woken == 1);
#endif
  pthread_join(thread, NULL);
}
