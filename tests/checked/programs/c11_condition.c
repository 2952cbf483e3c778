// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. The flag is set under the mutex and signalled after. A signal before the
// flag is set, and outside the mutex, may come before the wait, which then has no signal left.
#include <assert.h>
#include <threads.h>
static mtx_t mutex;
static cnd_t changed;
static int ready;
static int setter(void *arg) {
#ifdef FAULT
  cnd_signal(&changed);
#endif
  mtx_lock(&mutex);
  ready = 1;
  mtx_unlock(&mutex);
#ifndef FAULT
  cnd_signal(&changed);
#endif
  return arg == NULL ? 3 : 0;
}
int main(void) {
  thrd_t thread;
  int result = 0;
  mtx_init(&mutex, mtx_plain);
  cnd_init(&changed);
  assert(thrd_create(&thread, setter, NULL) == thrd_success);
  mtx_lock(&mutex);
  while (!ready) cnd_wait(&changed, &mutex);
  mtx_unlock(&mutex);
  thrd_join(thread, &result);
  assert(result == 3);
  cnd_destroy(&changed);
  mtx_destroy(&mutex);
  return 0;
}
