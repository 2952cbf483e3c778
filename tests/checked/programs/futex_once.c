// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A sleep may end for no reason, and as often as it likes.
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static void* sets(void* unused) {
  atomic_store(&word, 1);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, sets, NULL);
#ifdef FAULT
  for (int i = 0; i < 3; ++i) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
#else
  while (atomic_load(&word) == 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
#endif
  assert(atomic_load(&word) == 1);
  pthread_join(thread, NULL);
}
