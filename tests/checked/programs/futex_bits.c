// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A wake with bits reaches the sleepers that have one of them.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int ready;
static void wait_for(unsigned bits) {
  while (atomic_load(&ready) == 0) {
    syscall(SYS_futex, &ready, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, bits);
  }
}
static void* reader(void* unused) {
  wait_for(1);
  return unused;
}
static void* writer(void* unused) {
  wait_for(2);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reader, NULL);
  pthread_create(&threads[1], NULL, writer, NULL);
  atomic_store(&ready, 1);
#ifdef FAULT
  const unsigned bits = 1;
#else
  const unsigned bits = 3;
#endif
  syscall(SYS_futex, &ready, FUTEX_WAKE_BITSET_PRIVATE, 2, NULL, NULL, bits);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
