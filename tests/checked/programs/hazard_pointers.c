// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. A hazard pointer keeps an object while another thread removes and
// retires it. With FAULT the reader does not ask for one.
#include <assert.h>
#include <genmc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
static _Atomic(int*) shared;
static void* read_it(void* unused) {
#ifdef FAULT
  int* found = atomic_load_explicit(&shared, memory_order_acquire);
  if (found != NULL) assert(*found == 42);
#else
  __VERIFIER_hp_t* hazard = __VERIFIER_hp_alloc();
  int* found = __VERIFIER_hp_protect(hazard, &shared);
  if (found != NULL) assert(*found == 42);
  __VERIFIER_hp_clear(hazard);
  __VERIFIER_hp_free(hazard);
#endif
  return unused;
}
int main(void) {
  int* object = malloc(sizeof *object);
  *object = 42;
  atomic_store(&shared, object);
  __VERIFIER_thread_t reader = __VERIFIER_spawn(read_it, NULL);
  int* expected = object;
  __VERIFIER_helping_CAS(atomic_compare_exchange_strong(&shared, &expected, NULL););
  __VERIFIER_hp_retire(object);
  __VERIFIER_join(reader);
}
