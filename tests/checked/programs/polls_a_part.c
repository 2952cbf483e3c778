// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A change of one byte, of what was a number before, ends a loop that looks
// at the number under a mutex; with FAULT the other byte changes.
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static short number;
static void* look(void* unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int is_large = number >= 0x100;
    pthread_mutex_unlock(&mutex);
    if (is_large) return unused;
  }
}
int main(void) {
  pthread_t looker;
  pthread_create(&looker, NULL, look, NULL);
  pthread_mutex_lock(&mutex);
#ifdef FAULT
  ((char*)&number)[0] = 1;
#else
  ((char*)&number)[1] = 1;
#endif
  pthread_mutex_unlock(&mutex);
  pthread_join(looker, NULL);
}
