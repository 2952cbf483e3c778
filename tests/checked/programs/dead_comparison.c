// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. C11 7.24.4: strcmp() reads both texts, so memory must not be freed
// before it, even if the result is not used.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
static char* name;
static atomic_int used;
static void* reader(void* unused) {
  (void)strcmp(name, "k");
  atomic_store_explicit(&used, 1, memory_order_release);
  return unused;
}
int main(void) {
  name = malloc(4);
  strcpy(name, "key");
  pthread_t thread;
  pthread_create(&thread, NULL, &reader, NULL);
#ifndef FAULT
  while (!atomic_load_explicit(&used, memory_order_acquire)) {
  }
#endif
  free(name);
  pthread_join(thread, NULL);
}
