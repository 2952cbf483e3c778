/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs are handed from one thread to others through a small buffer: a mutex protects it, two semaphores
   count what is in it and what fits in, and an event says that there will be no more. */

#include <lockyard.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { room = 4, workers = 3, jobs = 1000 };

static lockyard_mutex guard = LOCKYARD_MUTEX_INITIALIZER;
static lockyard_semaphore filled = LOCKYARD_SEMAPHORE_INITIALIZER(0);
static lockyard_semaphore empty = LOCKYARD_SEMAPHORE_INITIALIZER(room);
static lockyard_manual_event closed = LOCKYARD_MANUAL_EVENT_INITIALIZER;

static int buffer[room];
static unsigned first, last;
static int64_t sum;

static void* work(void* unused) {
  for (;;) {
    int job;
    if (lockyard_semaphore_acquire(&filled, 1) != 0) return unused;
    lockyard_mutex_lock(&guard);
    if (first == last) { /* a permit without a job: there will be no more */
      lockyard_mutex_unlock(&guard);
      return unused;
    }
    job = buffer[first++ % room];
    sum += job;
    lockyard_mutex_unlock(&guard);
    if (lockyard_semaphore_release(&empty, 1) != 0) return unused;
  }
}

static void* report(void* unused) {
  lockyard_manual_event_wait(&closed);
  printf("%d jobs were handed out\n", jobs);
  return unused;
}

int main(void) {
  pthread_t reporter, team[workers];
  int job, i;
  if (pthread_create(&reporter, NULL, &report, NULL) != 0) return 1;
  for (i = 0; i < workers; ++i) {
    if (pthread_create(&team[i], NULL, &work, NULL) != 0) return 1;
  }
  for (job = 1; job <= jobs; ++job) {
    if (lockyard_semaphore_acquire(&empty, 1) != 0) return 1;
    lockyard_mutex_lock(&guard);
    buffer[last++ % room] = job;
    lockyard_mutex_unlock(&guard);
    if (lockyard_semaphore_release(&filled, 1) != 0) return 1;
  }
  lockyard_manual_event_set(&closed);
  pthread_join(reporter, NULL);
  if (lockyard_semaphore_release(&filled, workers) != 0) return 1;
  for (i = 0; i < workers; ++i) pthread_join(team[i], NULL);
  printf("their sum is %" PRId64 "\n", sum);
  if (lockyard_semaphore_acquire_for(&filled, 1, 1000000) != 0) puts("no job is left");
  return sum == (int64_t)jobs * (jobs + 1) / 2 ? 0 : 1;
}
