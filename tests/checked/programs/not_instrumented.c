// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. The checker sees no access of these functions, so it may leave no
// order out in which a thread finds what they have stored.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static int state;
__attribute__((__no_sanitize__("thread"), noinline)) static int get(void) { return state; }
__attribute__((__no_sanitize__("thread"), noinline)) static void set(int to) { state = to; }
static atomic_int x, y;
static void *writer(void *arg) {
  atomic_store(&x, 1);
#ifdef FAULT
  set(1);
  atomic_store(&x, 2);
#endif
  set(0);
  atomic_store(&x, 3);
  return arg;
}
static void *reader(void *arg) {
  atomic_store(&y, 1);
  assert(get() == 0);
  return arg;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
