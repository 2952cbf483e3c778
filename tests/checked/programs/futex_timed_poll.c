// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Waits with time limits that nothing ends are a loop without an end.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static atomic_int is_set;
static const struct timespec second = {1, 0};
static void* waits(void* unused) {
  while (atomic_load(&is_set) == 0) {
    syscall(SYS_futex, &is_set, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
#ifndef FAULT
  atomic_store(&is_set, 1);
#endif
  pthread_join(thread, NULL);
}
