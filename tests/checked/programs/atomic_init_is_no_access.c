// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. C11 7.17.2.2: atomic_init() avoids no data race; a concurrent access to
// the variable is one, even an atomic access.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct pair {
  short first;
  short second;
};
static atomic_int number;
static _Atomic(struct pair) both;
static void* reader(void* unused) {
  assert(atomic_load(&number) == 1);
  struct pair const found = atomic_load(&both);
  assert(found.first == 2 && found.second == 3);
  return unused;
}
static void initialise(void) {
  atomic_init(&number, 1);
  atomic_init(&both, ((struct pair){2, 3}));
}
int main(void) {
  pthread_t thread;
#ifndef FAULT
  initialise();
  pthread_create(&thread, NULL, &reader, NULL);
#else
  pthread_create(&thread, NULL, &reader, NULL);
  initialise();
#endif
  pthread_join(thread, NULL);
}
