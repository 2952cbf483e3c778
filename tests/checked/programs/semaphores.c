// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A post happens before the wait that it lets go on. One token too many
// lets both threads in.
#include <pthread.h>
#include <semaphore.h>
static sem_t tokens;
static int count;
static void *add(void *arg) {
  sem_wait(&tokens);
  ++count;
  sem_post(&tokens);
  return arg;
}
int main(void) {
  pthread_t a, b;
#ifdef FAULT
  sem_init(&tokens, 0, 2);
#else
  sem_init(&tokens, 0, 1);
#endif
  pthread_create(&a, NULL, add, NULL);
  pthread_create(&b, NULL, add, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  sem_destroy(&tokens);
  return count == 2 ? 0 : 1;
}
