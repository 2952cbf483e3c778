// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A key's destructor sets a value again and so runs again; main joins
// before it reads what the second run writes, or does not. The end of main() runs none.
#include <assert.h>
#include <pthread.h>
static pthread_key_t first, second;
static int runs;
static void again(void* value) {
  pthread_setspecific(first, value);
}
static void destroy(void* value) {
  assert(value != &first);
  if (value == &second) runs = 1;
}
static void* run(void* unused) {
  pthread_setspecific(second, &second);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_key_create(&first, destroy);
  pthread_key_create(&second, again);
  pthread_setspecific(first, &first);
  pthread_create(&thread, NULL, run, NULL);
#ifdef FAULT
  runs = 0;
#endif
  pthread_join(thread, NULL);
  assert(runs == 1);
}
