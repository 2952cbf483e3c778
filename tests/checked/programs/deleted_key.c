// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A thread that ends after a key's deletion does not run the key's
// destructor; one that ends before runs it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_key_t key;
static atomic_int deletes, ends;
static int is_destroyed;
static void destroy(void* value) {
  is_destroyed = value != NULL;
}
static void* run(void* value) {
  pthread_setspecific(key, value);
  atomic_store(&ends, 1);
  return NULL;
}
static void* delete_key(void* unused) {
  atomic_store(&deletes, 1);
  pthread_key_delete(key);
  atomic_store(&deletes, 2);
  return unused;
}
int main(void) {
  pthread_t deleter, thread;
  pthread_key_create(&key, destroy);
  pthread_create(&deleter, NULL, delete_key, NULL);
#ifndef FAULT
  pthread_join(deleter, NULL);
#endif
  pthread_create(&thread, NULL, run, &key);
  pthread_join(thread, NULL);
#ifdef FAULT
  pthread_join(deleter, NULL);
#endif
  assert(!is_destroyed);
}
