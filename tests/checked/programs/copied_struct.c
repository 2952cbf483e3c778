// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. memcpy and memset of plain data are accesses of every byte, published by
// the pointer or, with FAULT, written after it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
struct message {
  char text[12];
  double number;
};
static struct message *_Atomic box;
static void *sender(void *arg) {
  struct message mine;
  memset(&mine, 0, sizeof mine);
  strcpy(mine.text, "hello");
  struct message *const made = malloc(sizeof *made);
#ifdef FAULT
  atomic_store_explicit(&box, made, memory_order_release);
#endif
  memcpy(made, &mine, sizeof mine);
#ifndef FAULT
  atomic_store_explicit(&box, made, memory_order_release);
#endif
  return arg;
}
static void *receiver(void *arg) {
  struct message *const found = atomic_load_explicit(&box, memory_order_acquire);
  if (found) {
    struct message mine = *found;
    assert(mine.text[0] == 'h' && mine.number == 0.0);
  }
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, sender, NULL);
  pthread_create(&b, NULL, receiver, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  free(atomic_load(&box));
  return 0;
}
