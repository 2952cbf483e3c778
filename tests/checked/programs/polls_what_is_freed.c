// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. The end of memory is a change of what a loop has looked at under a
// mutex: the loop goes on, and uses it.
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int* flag;
static void* look(void* unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int is_set = *flag;
    pthread_mutex_unlock(&mutex);
    if (is_set) return unused;
  }
}
int main(void) {
  pthread_t looker;
  flag = calloc(1, sizeof *flag);
  pthread_create(&looker, NULL, look, NULL);
  pthread_mutex_lock(&mutex);
#ifdef FAULT
  free(flag);
  pthread_mutex_unlock(&mutex);
  pthread_join(looker, NULL);
#else
  *flag = 1;
  pthread_mutex_unlock(&mutex);
  pthread_join(looker, NULL);
  free(flag);
#endif
}
