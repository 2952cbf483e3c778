// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A wait for a value that the word does not have returns, and says nothing
// of a second wait, for a value that it has.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static void* run(void* unused) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
#ifdef FAULT
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
}
