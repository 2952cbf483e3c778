// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. POSIX: the numbers of rand_r() follow from the seed, which it reads and
// writes.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static unsigned seeds[2] = {1, 1};
static int drawn[2];
static void* draw(void* slot) {
  const long index = (long)slot;
#ifdef FAULT
  drawn[index] = rand_r(&seeds[0]);
#else
  drawn[index] = rand_r(&seeds[index]);
#endif
  return NULL;
}
int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, &draw, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(drawn[0] == drawn[1]);
}
