// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The third mutex of Drepper's "Futexes are tricky": its word is 2 once a
// thread may sleep. A woken thread that takes it with 1 hides the others that sleep.
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word;
static int owned;
static long futex(int operation, int value) {
  return syscall(SYS_futex, &word, operation, value, NULL, NULL, 0);
}
static void lock(void) {
  int found = 0;
  if (atomic_compare_exchange_strong(&word, &found, 1)) return;
  while (atomic_exchange(&word, 2) != 0) futex(FUTEX_WAIT_PRIVATE, 2);
#ifdef FAULT
  atomic_store(&word, 1);
#endif
}
static void unlock(void) {
  if (atomic_exchange(&word, 0) == 2) futex(FUTEX_WAKE_PRIVATE, 1);
}
static void* run(void* unused) {
  lock();
  assert(owned++ == 0);
  --owned;
  unlock();
  return unused;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}
