// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The code promises the compiler that it never sees the second value.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int word;
static void* run(void* unused) {
  atomic_store(&word, 1);
#ifdef FAULT
  atomic_store(&word, 2);
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  if (atomic_load(&word) > 1) __builtin_unreachable();
  pthread_join(thread, NULL);
}
