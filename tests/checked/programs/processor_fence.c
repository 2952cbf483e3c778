// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Store buffering: two threads store and then load, and a full fence of
// the processor's between the two lets at least one of them see the other's store. Each thread looks
// at the processor's counter of cycles, which never goes back, and asks for a priority.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifdef __x86_64__
#include <x86intrin.h>
#define FENCE() _mm_mfence()
#define CYCLES() __rdtsc()
#else
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#define CYCLES() 0ULL
#endif
static atomic_int words[2];
static int seen[2];
static void* run(void* slot) {
  const long index = (long)slot;
  const struct sched_param urgent = {.sched_priority = 1};
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &urgent);
  const unsigned long long begin = CYCLES();
  atomic_store_explicit(&words[index], 1, memory_order_relaxed);
#ifndef FAULT
  FENCE();
#endif
  seen[index] = atomic_load_explicit(&words[1 - index], memory_order_relaxed);
  assert(CYCLES() >= begin);
  return NULL;
}
int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, &run, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(seen[0] + seen[1] > 0);
}
