// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Read-modify-writes of one word follow each other in its
// modification order; a load and a store may lose an update.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static _Atomic unsigned short count;
static void *add(void *arg) {
  for (int i = 0; i < 2; ++i) {
#ifdef FAULT
    atomic_store_explicit(&count, count + 1, memory_order_relaxed);
#else
    count++;
#endif
  }
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, add, NULL);
  pthread_create(&b, NULL, add, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(count == 4);
  return 0;
}
