// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Store buffering: each thread has a full barrier as inline assembly,
// in one of the two forms that kernels and databases use. With FAULT one thread has none. A thread
// that sleeps by poll() or select() orders nothing.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/select.h>
#ifdef __x86_64__
#define FENCE() __asm__ volatile("mfence" ::: "memory")
#define OTHER_FENCE() __asm__ volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc")
#else
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#define OTHER_FENCE() atomic_thread_fence(memory_order_seq_cst)
#endif
static atomic_int words[2];
static int seen[2];
static void* run(void* unused) {
  atomic_store_explicit(&words[0], 1, memory_order_relaxed);
#ifdef FAULT
  poll(NULL, 0, 1);
#else
  FENCE();
#endif
  seen[0] = atomic_load_explicit(&words[1], memory_order_relaxed);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  struct timeval length = {.tv_usec = 10};
  select(0, NULL, NULL, NULL, &length);
  const long kept = (long)&thread;
  atomic_store_explicit(&words[1], 1, memory_order_relaxed);
  OTHER_FENCE();
  seen[1] = atomic_load_explicit(&words[0], memory_order_relaxed);
  assert(kept == (long)&thread);
  pthread_join(thread, NULL);
  assert(seen[0] == 1 || seen[1] == 1);
}
