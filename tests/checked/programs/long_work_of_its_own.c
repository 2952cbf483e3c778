// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. One thread does more steps on a word of its own than an execution
// has in all orders; the other two read and write another word within a few steps.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int own;
static atomic_int shared;

static void* write(void* unused) {
  atomic_store_explicit(&shared, 1, memory_order_relaxed);
  return unused;
}
static void* read(void* unused) {
  const int seen = atomic_load_explicit(&shared, memory_order_relaxed);
#ifdef FAULT
  assert(seen == 1);
#else
  assert(seen == 0 || seen == 1);
#endif
  return unused;
}

int main(void) {
  pthread_t writer;
  pthread_t reader;
  pthread_create(&writer, 0, write, 0);
  pthread_create(&reader, 0, read, 0);
  for (int i = 0; i < 110; ++i) {
    atomic_store_explicit(&own, i, memory_order_relaxed);
    for (int j = 0; j < 3; ++j) assert(atomic_load_explicit(&own, memory_order_relaxed) == i);
  }
  pthread_join(writer, 0);
  pthread_join(reader, 0);
}
