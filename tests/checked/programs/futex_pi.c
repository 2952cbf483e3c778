// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A lock with priority inheritance: the word has the owner's number, and
// the kernel hands it to a thread that waits. With FAULT an owner leaves it to the kernel only if
// no thread waits, so nothing hands it on.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint word;
static int count;

static unsigned self(void) { return (unsigned)syscall(SYS_gettid); }

static void lock(void) {
  unsigned none = 0;
  if (atomic_compare_exchange_strong_explicit(&word, &none, self(), memory_order_acquire,
                                              memory_order_relaxed))
    return;
  syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

static void unlock(void) {
  unsigned mine = self();
  if (atomic_compare_exchange_strong_explicit(&word, &mine, 0, memory_order_release,
                                              memory_order_relaxed))
    return;
#ifdef FAULT
  if ((mine & FUTEX_WAITERS) != 0) return;
#endif
  syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

static void* work(void* unused) {
  lock();
  ++count;
  unlock();
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return count == 2 ? 0 : 1;
}
