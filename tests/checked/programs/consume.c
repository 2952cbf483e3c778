// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. consume counts as acquire, as in all compilers; relaxed does not
// synchronise, although a dependency leads to the data.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define READ memory_order_relaxed
#else
#define READ memory_order_consume
#endif
struct node {
  int value;
};
static struct node only;
static struct node *_Atomic published;
static void *writer(void *arg) {
  only.value = 3;
  atomic_store_explicit(&published, &only, memory_order_release);
  return arg;
}
static void *reader(void *arg) {
  const struct node *found = atomic_load_explicit(&published, READ);
  if (found) assert(found->value == 3);
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
