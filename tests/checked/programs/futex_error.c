// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A wait whose result is not read shows by errno that the word had
// another value.
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static void* run(void* unused) {
  atomic_store(&word, 1);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  errno = 0;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
#ifdef FAULT
  assert(errno == 0);
#else
  assert(errno == 0 || errno == EAGAIN);
#endif
  pthread_join(thread, NULL);
}
