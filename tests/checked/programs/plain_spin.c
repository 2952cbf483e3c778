// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A loop that waits for plain data synchronises nothing:
// its read and the write race in every execution. With the atomic flag the release and
// the acquire order the plain accesses.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
static int flag;
#define set(value) flag = (value)
#define get() flag
#else
static atomic_int flag;
#define set(value) atomic_store_explicit(&flag, (value), memory_order_release)
#define get() atomic_load_explicit(&flag, memory_order_acquire)
#endif
static int data;
static void *writer(void *arg) {
  data = 1;
  set(1);
  return arg;
}
static void *reader(void *arg) {
  while (!get()) {
  }
  return data == 1 ? arg : NULL;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, reader, NULL);
  pthread_create(&b, NULL, writer, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
