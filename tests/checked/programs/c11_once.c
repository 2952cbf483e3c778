// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. call_once runs its function once, and its return happens before every
// other return.
#include <assert.h>
#include <threads.h>
static once_flag once = ONCE_FLAG_INIT;
static int made;
static void make(void) { made = made + 1; }
static int use(void *arg) {
#ifdef FAULT
  if (!made) make();
#else
  call_once(&once, make);
#endif
  assert(made == 1);
  return arg == NULL;
}
int main(void) {
  thrd_t a, b;
  thrd_create(&a, use, NULL);
  thrd_create(&b, use, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
  return 0;
}
