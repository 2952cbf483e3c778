// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. The last owner frees the object, and every other owner's use must
// happen before: each decrement releases, and the last one acquires.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#ifdef FAULT
#define LEAVE memory_order_relaxed
#else
#define LEAVE memory_order_acq_rel
#endif
struct object {
  atomic_int owners;
  int value;
};
static void *leave(void *arg) {
  struct object *const mine = arg;
  const int seen = mine->value;
  if (atomic_fetch_sub_explicit(&mine->owners, 1, LEAVE) == 1) free(mine);
  return seen == 1 ? arg : NULL;
}
int main(void) {
  struct object *const made = malloc(sizeof *made);
  atomic_init(&made->owners, 2);
  made->value = 1;
  pthread_t a, b;
  pthread_create(&a, NULL, leave, made);
  pthread_create(&b, NULL, leave, made);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
