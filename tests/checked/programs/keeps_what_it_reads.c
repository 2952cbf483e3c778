// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A spin keeps what it has read in a variable that is not on its stack.
// With FAULT nothing sets the flag.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag;
static _Thread_local int known;
static void* waiter(void* unused) {
  while (known != 1) known = atomic_load_explicit(&flag, memory_order_acquire);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
#ifndef FAULT
  atomic_store(&flag, 1);
#endif
  pthread_join(thread, NULL);
}
