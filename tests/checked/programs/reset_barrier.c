// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The last to arrive turns a generation. If a thread that leaves resets the
// flag instead, a slow thread may never see it set.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int count, open;
static void *run(void *arg) {
  if (atomic_fetch_add(&count, 1) == 1) atomic_store(&open, 1);
  while (!atomic_load(&open)) {
  }
#ifdef FAULT
  atomic_store(&open, 0);
#endif
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, run, NULL);
  pthread_create(&b, NULL, run, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
