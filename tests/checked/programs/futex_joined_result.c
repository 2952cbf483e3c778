// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The thread that joins another one reads how many that has woken.
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static void* wakes(void* unused) {
  (void)unused;
  atomic_store(&word, 1);
  return (void*)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
int main(void) {
  pthread_t thread;
  void* woken = NULL;
  pthread_create(&thread, NULL, wakes, NULL);
  while (atomic_load(&word) == 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
  pthread_join(thread, &woken);
#ifdef FAULT
  assert(woken == NULL);
#endif
}
