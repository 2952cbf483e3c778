// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A loop takes two mutexes in each turn, and another thread takes them in
// the same order, or in the other order.
#include <pthread.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int flag;
static void* look(void* unused) {
  for (int is_set = 0; !is_set;) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    is_set = flag;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
  }
  return unused;
}
int main(void) {
  pthread_t looker;
  pthread_create(&looker, NULL, look, NULL);
#ifdef FAULT
  pthread_mutex_lock(&second);
  pthread_mutex_lock(&first);
#else
  pthread_mutex_lock(&first);
  pthread_mutex_lock(&second);
#endif
  flag = 1;
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&first);
  pthread_join(looker, NULL);
}
