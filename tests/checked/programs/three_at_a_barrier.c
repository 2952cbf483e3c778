// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A barrier whose last thread sets the number again, and then turns the
// sense over. If it turns the sense first, another thread may count itself in the next phase, and
// the number that is set afterwards does not include it: all wait.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { threads = 3, phases = 2 };

static atomic_int missing = threads;
static atomic_int sense;
static int done[threads];

static void wait_for_all(int mine) {
  if (atomic_fetch_sub_explicit(&missing, 1, memory_order_acq_rel) == 1) {
#ifdef FAULT
    atomic_store_explicit(&sense, mine, memory_order_release);
    atomic_store_explicit(&missing, threads, memory_order_release);
#else
    atomic_store_explicit(&missing, threads, memory_order_relaxed);
    atomic_store_explicit(&sense, mine, memory_order_release);
#endif
  } else {
    while (atomic_load_explicit(&sense, memory_order_acquire) != mine) {
    }
  }
}

static void* run(void* number) {
  done[(long)number] = 1;
  for (int phase = 1; phase <= phases; ++phase) {
    wait_for_all(phase % 2);
    for (int each = 0; each < threads; ++each) assert(done[each] == 1);
  }
  return 0;
}

int main(void) {
  pthread_t all[threads];
  for (long i = 0; i < threads; ++i) pthread_create(&all[i], 0, run, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], 0);
}
