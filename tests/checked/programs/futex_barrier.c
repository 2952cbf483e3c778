// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Threads sleep until the phase of a barrier is over; the last one to
// arrive has to wake all of them.
#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { count = 3 };
static atomic_int arrived, phase;
static int data[count];
#ifdef FAULT
enum { woken = 1 };
#else
enum { woken = INT_MAX };
#endif
static void wait_for_all(void) {
  const int now = atomic_load(&phase);
  if (atomic_fetch_add(&arrived, 1) + 1 == count) {
    atomic_store(&arrived, 0);
    atomic_store(&phase, now + 1);
    syscall(SYS_futex, &phase, FUTEX_WAKE_PRIVATE, woken, NULL, NULL, 0);
  }
  while (atomic_load(&phase) == now) {
    syscall(SYS_futex, &phase, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
  }
}
static void* run(void* which) {
  int* const mine = which;
  *mine = 1;
  wait_for_all();
  for (int i = 0; i < count; ++i) assert(data[i] == 1);
  wait_for_all();
  *mine = 2;
  return NULL;
}
int main(void) {
  pthread_t threads[count];
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, run, &data[i]);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}
