// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A loop that looks under a mutex counts its turns where the stack does not
// show it, so it ends; with FAULT it does not count.
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t turns;
static int flag;
static int has_made_three(void) {
  const char* made = pthread_getspecific(turns);
#ifndef FAULT
  pthread_setspecific(turns, made + 1);
#endif
  return made == (char*)0 + 3;
}
static void* look(void* unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int is_set = flag;
    pthread_mutex_unlock(&mutex);
    if (is_set || has_made_three()) return unused;
  }
}
int main(void) {
  pthread_t looker;
  pthread_key_create(&turns, NULL);
  pthread_create(&looker, NULL, look, NULL);
  pthread_join(looker, NULL);
}
