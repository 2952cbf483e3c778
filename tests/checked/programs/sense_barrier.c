// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Each arrival releases and acquires by the count; the last one turns the
// sense, which the others wait for. A relaxed arrival does not publish its work.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define ARRIVE memory_order_acquire
#else
#define ARRIVE memory_order_acq_rel
#endif
enum { threads = 2 };
static atomic_int missing = threads, sense;
static int work[threads];
static void *run(void *arg) {
  const int me = (int)(long)arg;
  for (int phase = 1; phase <= 2; ++phase) {
    if (phase == 1) work[me] = 1;
    if (atomic_fetch_sub_explicit(&missing, 1, ARRIVE) == 1) {
      atomic_store_explicit(&missing, threads, memory_order_relaxed);
      atomic_store_explicit(&sense, phase, memory_order_release);
    } else {
      while (atomic_load_explicit(&sense, memory_order_acquire) < phase) {
      }
    }
    if (phase == 1) assert(work[1 - me] == 1);
  }
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, run, (void *)0);
  pthread_create(&b, NULL, run, (void *)1);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
