// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A loop that reads a word in each turn ends by what it keeps in memory
// alone. With FAULT it comes back to the same bytes after three turns.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag;
static int step;
__attribute__((noinline)) static void advance(void) {
#ifdef FAULT
  step = (step + 1) % 3;
#else
  ++step;
#endif
}
__attribute__((noinline)) static int has_ended(void) {
  return step == 3;
}
static void* worker(void* unused) {
  while (!atomic_load_explicit(&flag, memory_order_relaxed) && !has_ended()) advance();
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
}
