// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Adjacent bit-fields are one memory location; a field of width 0 between
// them makes two (C11 3.14).
#include <pthread.h>
static struct {
  unsigned first : 8;
#ifndef FAULT
  unsigned : 0;
#endif
  unsigned second : 7;
} fields;
static void *one(void *arg) {
  fields.first = 1;
  return arg;
}
static void *two(void *arg) {
  fields.second = 1;
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, one, NULL);
  pthread_create(&b, NULL, two, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return fields.first + fields.second == 2 ? 0 : 1;
}
