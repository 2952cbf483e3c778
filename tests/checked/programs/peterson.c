// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Peterson's lock needs the order of the own flag's store and the other
// flag's load, which only seq_cst gives.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define WRITE memory_order_release
#define READ memory_order_acquire
#else
#define WRITE memory_order_seq_cst
#define READ memory_order_seq_cst
#endif
static atomic_int wants[2], turn;
static int count;
static void *add(void *arg) {
  const int me = (int)(long)arg;
  atomic_store_explicit(&wants[me], 1, WRITE);
  atomic_store_explicit(&turn, 1 - me, WRITE);
  while (atomic_load_explicit(&wants[1 - me], READ) && atomic_load_explicit(&turn, READ) != me) {
  }
  ++count;
  atomic_store_explicit(&wants[me], 0, WRITE);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, add, (void *)0);
  pthread_create(&b, NULL, add, (void *)1);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
