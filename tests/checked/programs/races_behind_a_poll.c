// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A loop looks at a flag, and then at data, under a mutex. The other
// thread writes the data while it has the mutex; with FAULT it gives the mutex back before.
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int flag, data;
static void* look(void* unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int is_set = flag != 0 || data == 7;
    pthread_mutex_unlock(&mutex);
    if (is_set) return unused;
  }
}
int main(void) {
  pthread_t looker;
  pthread_create(&looker, NULL, look, NULL);
  pthread_mutex_lock(&mutex);
#ifdef FAULT
  pthread_mutex_unlock(&mutex);
  data = 1;
  pthread_mutex_lock(&mutex);
#else
  data = 1;
#endif
  flag = 1;
  pthread_mutex_unlock(&mutex);
  pthread_join(looker, NULL);
}
