// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A lock by exchange, and a count. With FAULT the owner reads the lock's
// word without an atomic access, at the same time as an exchange of the other thread, which fails
// and changes nothing; the exchanges that succeed come before or after it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int held;
int count;

void lock(void) {
  while (atomic_exchange_explicit(&held, 1, memory_order_acquire)) {
  }
}

void unlock(void) {
  atomic_store_explicit(&held, 0, memory_order_release);
}

void* looks(void* argument) {
  lock();
#ifdef FAULT
  assert(*(volatile int*)&held == 1);
#endif
  ++count;
  unlock();
  return argument;
}

void* does_not_look(void* argument) {
  lock();
  ++count;
  unlock();
  return argument;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], 0, does_not_look, 0);
  pthread_create(&threads[1], 0, looks, 0);
  pthread_create(&threads[2], 0, does_not_look, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  assert(count == 3);
}
