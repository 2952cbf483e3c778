// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Two readers agree on the order of two independent seq_cst stores.
// With acquire loads they may disagree.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define READ memory_order_acquire
#else
#define READ memory_order_seq_cst
#endif
static atomic_int words[2];
static int seen[2][2];
static void *writer(void *arg) {
  atomic_store((atomic_int *)arg, 1);
  return arg;
}
static void *reader(void *arg) {
  const int me = (int)(long)arg;
  seen[me][0] = atomic_load_explicit(&words[me], READ);
  seen[me][1] = atomic_load_explicit(&words[1 - me], READ);
  return arg;
}
int main(void) {
  pthread_t threads[4];
  for (long i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, writer, &words[i]);
    pthread_create(&threads[2 + i], NULL, reader, (void *)i);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  assert(!(seen[0][0] == 1 && seen[0][1] == 0 && seen[1][0] == 1 && seen[1][1] == 0));
  return 0;
}
