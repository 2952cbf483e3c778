// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A wait with a time limit always returns, but until it does it may be the
// one that a wake reaches.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static atomic_int is_set;
static const struct timespec second = {1, 0};
static void* waits_once(void* unused) {
  syscall(SYS_futex, &is_set, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
  return unused;
}
static void* waits(void* unused) {
#ifdef FAULT
  const struct timespec* limit = NULL;
#else
  const struct timespec* limit = &second;
#endif
  while (atomic_load(&is_set) == 0) {
    syscall(SYS_futex, &is_set, FUTEX_WAIT_PRIVATE, 0, limit, NULL, 0);
  }
  return unused;
}
int main(void) {
  pthread_t one;
  pthread_t other;
  pthread_create(&one, NULL, waits_once, NULL);
  pthread_create(&other, NULL, waits, NULL);
  atomic_store(&is_set, 1);
  syscall(SYS_futex, &is_set, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
}
