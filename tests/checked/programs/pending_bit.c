// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A spin whose operation changes nothing, and which another value ends
// all the same: the pending bit is set, and the lock's bit goes.
#include <pthread.h>
#include <stdatomic.h>
static atomic_uint word = 1;
static void* run(void* unused) {
  while (atomic_fetch_or(&word, 2) & 1) {
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
#ifndef FAULT
  atomic_fetch_and(&word, ~1U);
#endif
  pthread_join(thread, NULL);
}
