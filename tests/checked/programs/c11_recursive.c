// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A recursive mutex may be locked by its owner again; a plain one not.
#include <threads.h>
static mtx_t mutex;
static int count;
static void twice(int depth) {
  mtx_lock(&mutex);
  if (depth) twice(depth - 1);
  ++count;
  mtx_unlock(&mutex);
}
static int run(void *arg) {
  twice(1);
  return arg == NULL;
}
int main(void) {
  thrd_t thread;
#ifdef FAULT
  mtx_init(&mutex, mtx_plain);
#else
  mtx_init(&mutex, mtx_plain | mtx_recursive);
#endif
  thrd_create(&thread, run, NULL);
  twice(1);
  thrd_join(thread, NULL);
  return count == 4 ? 0 : 1;
}
