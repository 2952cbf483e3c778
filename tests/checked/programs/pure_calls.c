// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A call reads what its function reads, even if the result is not used and
// the function is declared as pure, so that the compiler may drop the call.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static char name[8] = "one";
static int numbers[2];
static atomic_int done;
__attribute__((pure, noinline)) static int second_of(const int* of) { return of[1]; }
static void* writer(void* unused) {
  name[1] = 'z';
  numbers[1] = 1;
  atomic_store_explicit(&done, 1, memory_order_release);
  return unused;
}
static void* reader(void* unused) {
#ifndef FAULT
  if (!atomic_load_explicit(&done, memory_order_acquire)) return unused;
  (void)strlen(name);
#endif
  second_of(numbers);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, &writer, NULL);
  pthread_create(&threads[1], NULL, &reader, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
