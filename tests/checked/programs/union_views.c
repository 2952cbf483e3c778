// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The members of a union are one place; the atomic member of it is written
// by one thread at a time, and read by the other only after the flag.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static union {
  unsigned whole;
  unsigned short halves[2];
} data;
static atomic_bool ready;
static void *writer(void *arg) {
  data.whole = 0x10001u;
#ifdef FAULT
  atomic_store_explicit(&ready, 1, memory_order_relaxed);
#else
  atomic_store_explicit(&ready, 1, memory_order_release);
#endif
  return arg;
}
static void *reader(void *arg) {
  if (atomic_load_explicit(&ready, memory_order_acquire)) assert(data.halves[1] == 1);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, writer, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
