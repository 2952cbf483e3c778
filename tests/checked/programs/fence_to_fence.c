// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. The release fence before the relaxed store synchronises with the acquire
// fence behind the relaxed load that reads it; a fence before that load does not.
#include <pthread.h>
#include <stdatomic.h>
static int data;
static atomic_int flag;
static void *writer(void *arg) {
  data = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return arg;
}
static void *reader(void *arg) {
#ifdef FAULT
  atomic_thread_fence(memory_order_acquire);
#endif
  if (atomic_load_explicit(&flag, memory_order_relaxed)) {
#ifndef FAULT
    atomic_thread_fence(memory_order_acquire);
#endif
    data = 2;
  }
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
