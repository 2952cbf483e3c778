// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A loop takes two mutexes, and reads data only where it goes round again. Its
// next turn may take the first mutex before the other thread has it and sets the flag, and leave.
// Only then the data is written, and by a thread that does not know of the read with FAULT.
#include <pthread.h>
#include <stdatomic.h>
#ifdef FAULT
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int flag, data;
static atomic_int has_left, has_seen;
static void* look(void* unused) {
  int found = 0;
  for (;;) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_lock(&second);
    const int is_set = flag;
    pthread_mutex_unlock(&second);
    if (is_set) break;
    found += data & 2;
  }
  atomic_store_explicit(&has_left, 1, memory_order_relaxed);
  return found == 0 ? NULL : unused;
}
static void* set(void* unused) {
  pthread_mutex_lock(&first);
  pthread_mutex_lock(&second);
  flag = 1;
  pthread_mutex_unlock(&second);
  const int seen = atomic_load_explicit(&has_left, memory_order_relaxed);
  pthread_mutex_unlock(&first);
  if (seen) atomic_store_explicit(&has_seen, 1, PUBLISH);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, look, NULL);
  pthread_create(&threads[1], NULL, set, NULL);
  if (atomic_load_explicit(&has_seen, memory_order_acquire)) data = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
