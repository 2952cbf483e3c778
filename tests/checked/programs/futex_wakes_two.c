// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Three threads sleep, and a wake of two leaves one of them asleep.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef FAULT
enum { woken = 2 };
#else
enum { woken = 3 };
#endif
static atomic_int ready;
static void* run(void* unused) {
  while (atomic_load(&ready) == 0) {
    syscall(SYS_futex, &ready, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
  return unused;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, NULL);
  atomic_store(&ready, 1);
  syscall(SYS_futex, &ready, FUTEX_WAKE_PRIVATE, woken, NULL, NULL, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}
