/* SPDX-License-Identifier: Apache-2.0 */

/* Every function of lockyard.h, and each of its errors, by a program in C. A part runs by its name.
 */

#define _POSIX_C_SOURCE 200809L

#include <lockyard.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(claim) \
  ((claim) ? (void)0 \
           : (void)(++failures, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim)))

enum { moment_ns = 1000000 };
static const struct timespec no_time[] = {{0, -1}, {0, 1000000000}};
static const struct timespec past[] = {{0, 0}, {-1, 0}, {1, 999999999}};

static struct timespec soon(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  now.tv_nsec += moment_ns;
  if (now.tv_nsec >= 1000000000) {
    now.tv_nsec -= 1000000000;
    ++now.tv_sec;
  }
  return now;
}

static struct timespec far_away(void) {
  struct timespec time = {0, 0};
  time.tv_sec = (time_t)(INT64_MAX / 2);
  return time;
}

static void elsewhere(void* (*work)(void*)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* Checks that each of three functions refuses in its own words. */
#define CHECK_REFUSED(busy, tried, by_duration, by_time)            \
  do {                                                              \
    struct timespec limit = soon();                                 \
    CHECK((tried) == (busy));                                       \
    for (int64_t ns = -moment_ns; ns <= moment_ns; ns += moment_ns) \
      CHECK((by_duration) == ETIMEDOUT);                            \
    CHECK((by_time) == ETIMEDOUT);                                  \
    for (size_t i = 0; i < sizeof past / sizeof *past; ++i) {       \
      limit = past[i];                                              \
      CHECK((by_time) == ETIMEDOUT);                                \
    }                                                               \
    for (size_t i = 0; i < sizeof no_time / sizeof *no_time; ++i) { \
      limit = no_time[i];                                           \
      CHECK((by_time) == EINVAL);                                   \
    }                                                               \
  } while (0)

/* What every kind of mutex does, and a count that two threads keep under it. */
#define TEST_OF_MUTEX(kind, INITIALIZER)                                                           \
  static lockyard_##kind kind = INITIALIZER;                                                       \
  static long kind##_count;                                                                        \
  static void* count_by_##kind(void* unused) {                                                     \
    for (int i = 0; i < 20000; ++i) {                                                              \
      lockyard_##kind##_lock(&kind);                                                               \
      ++kind##_count;                                                                              \
      lockyard_##kind##_unlock(&kind);                                                             \
    }                                                                                              \
    return unused;                                                                                 \
  }                                                                                                \
  static void* find_##kind##_held(void* unused) {                                                  \
    CHECK_REFUSED(EBUSY, lockyard_##kind##_try_lock(&kind), lockyard_##kind##_lock_for(&kind, ns), \
                  lockyard_##kind##_lock_until(&kind, &limit));                                    \
    return unused;                                                                                 \
  }                                                                                                \
  static void kind##_excludes(void) {                                                              \
    pthread_t other;                                                                               \
    const struct timespec limit = far_away();                                                      \
    CHECK(lockyard_##kind##_try_lock(&kind) == 0);                                                 \
    elsewhere(&find_##kind##_held);                                                                \
    lockyard_##kind##_unlock(&kind);                                                               \
    CHECK(lockyard_##kind##_lock_for(&kind, 0) == 0);                                              \
    elsewhere(&find_##kind##_held);                                                                \
    lockyard_##kind##_unlock(&kind);                                                               \
    CHECK(lockyard_##kind##_lock_until(&kind, &limit) == 0);                                       \
    elsewhere(&find_##kind##_held);                                                                \
    lockyard_##kind##_unlock(&kind);                                                               \
    CHECK(pthread_create(&other, NULL, &count_by_##kind, NULL) == 0);                              \
    count_by_##kind(NULL);                                                                         \
    CHECK(pthread_join(other, NULL) == 0);                                                         \
    CHECK(kind##_count == 40000);                                                                  \
  }

TEST_OF_MUTEX(mutex, LOCKYARD_MUTEX_INITIALIZER)
TEST_OF_MUTEX(fair_mutex, LOCKYARD_FAIR_MUTEX_INITIALIZER)
TEST_OF_MUTEX(shared_mutex, LOCKYARD_SHARED_MUTEX_INITIALIZER)

static void* find_shared_mutex_closed(void* unused) {
  CHECK_REFUSED(EBUSY, lockyard_shared_mutex_try_lock_shared(&shared_mutex),
                lockyard_shared_mutex_lock_shared_for(&shared_mutex, ns),
                lockyard_shared_mutex_lock_shared_until(&shared_mutex, &limit));
  CHECK(lockyard_shared_mutex_try_lock_upgrade(&shared_mutex) == EBUSY);
  return unused;
}

static void* read_beside(void* unused) {
  const struct timespec limit = far_away();
  CHECK(lockyard_shared_mutex_try_lock_shared(&shared_mutex) == 0);
  lockyard_shared_mutex_unlock_shared(&shared_mutex);
  CHECK(lockyard_shared_mutex_lock_shared_for(&shared_mutex, 0) == 0);
  lockyard_shared_mutex_unlock_shared(&shared_mutex);
  CHECK(lockyard_shared_mutex_lock_shared_until(&shared_mutex, &limit) == 0);
  lockyard_shared_mutex_unlock_shared(&shared_mutex);
  return find_shared_mutex_held(unused);
}

static void* upgrade_beside(void* unused) {
  CHECK(lockyard_shared_mutex_try_lock_upgrade(&shared_mutex) == 0);
  lockyard_shared_mutex_unlock_upgrade(&shared_mutex);
  return read_beside(unused);
}

static void* find_an_upgrader(void* unused) {
  CHECK(lockyard_shared_mutex_try_lock_upgrade(&shared_mutex) == EBUSY);
  return read_beside(unused);
}

static void shared_mutex_is_shared(void) {
  lockyard_shared_mutex_lock_shared(&shared_mutex);
  elsewhere(&upgrade_beside);
  lockyard_shared_mutex_unlock_shared(&shared_mutex);

  lockyard_shared_mutex_lock_upgrade(&shared_mutex);
  elsewhere(&find_an_upgrader);
  lockyard_shared_mutex_unlock_upgrade_and_lock(&shared_mutex);
  elsewhere(&find_shared_mutex_closed);
  lockyard_shared_mutex_unlock_and_lock_upgrade(&shared_mutex);
  elsewhere(&find_an_upgrader);
  lockyard_shared_mutex_unlock_upgrade_and_lock_shared(&shared_mutex);
  elsewhere(&upgrade_beside);
  lockyard_shared_mutex_unlock_shared(&shared_mutex);

  lockyard_shared_mutex_lock(&shared_mutex);
  elsewhere(&find_shared_mutex_closed);
  lockyard_shared_mutex_unlock_and_lock_shared(&shared_mutex);
  elsewhere(&upgrade_beside);
  lockyard_shared_mutex_unlock_shared(&shared_mutex);
  CHECK(lockyard_shared_mutex_try_lock(&shared_mutex) == 0);
  lockyard_shared_mutex_unlock(&shared_mutex);
}

static lockyard_condition changed = LOCKYARD_CONDITION_INITIALIZER;
static int stage;

/* Waits by each function in turn, until the stage is no longer what it was. */
static void await_stage_after(int before) {
  const struct timespec limit = far_away();
  while (stage == before) {
    switch (before % 3) {
      case 0: lockyard_condition_wait(&changed, &mutex); break;
      case 1: CHECK(lockyard_condition_wait_for(&changed, &mutex, INT64_MAX) == 0); break;
      default: CHECK(lockyard_condition_wait_until(&changed, &mutex, &limit) == 0);
    }
  }
}

static void* answer_each_stage(void* unused) {
  lockyard_mutex_lock(&mutex);
  while (stage < 2999) {
    if (stage % 2 == 0) {
      ++stage;
      lockyard_condition_notify_one(&changed);
    }
    await_stage_after(stage);
  }
  lockyard_mutex_unlock(&mutex);
  return unused;
}

static void condition_hands_turns_over(void) {
  pthread_t other;
  CHECK(pthread_create(&other, NULL, &answer_each_stage, NULL) == 0);
  lockyard_mutex_lock(&mutex);
  while (stage < 3000) {
    if (stage % 2 == 1) {
      ++stage;
      lockyard_condition_notify_one(&changed);
    } else {
      await_stage_after(stage);
    }
  }
  lockyard_mutex_unlock(&mutex);
  CHECK(pthread_join(other, NULL) == 0);
}

enum { listeners = 4 };
static int listening;
static int round_told;

static void* listen_each_round(void* unused) {
  lockyard_mutex_lock(&mutex);
  for (int round = 1; round <= 100; ++round) {
    ++listening;
    while (round_told < round) lockyard_condition_wait(&changed, &mutex);
  }
  lockyard_mutex_unlock(&mutex);
  return unused;
}

/* Nothing is told before all listen, and nothing again: a thread that is left out listens forever. */
static void condition_is_told_to_all(void) {
  pthread_t team[listeners];
  for (int i = 0; i < listeners; ++i) {
    CHECK(pthread_create(&team[i], NULL, &listen_each_round, NULL) == 0);
  }
  for (int round = 1; round <= 100; ++round) {
    lockyard_mutex_lock(&mutex);
    while (listening < round * listeners) {
      lockyard_mutex_unlock(&mutex);
      sched_yield();
      lockyard_mutex_lock(&mutex);
    }
    round_told = round;
    lockyard_mutex_unlock(&mutex);
    lockyard_condition_notify_all(&changed);
  }
  for (int i = 0; i < listeners; ++i) CHECK(pthread_join(team[i], NULL) == 0);
}

/* Each wait that ends by the time holds the mutex afterwards. */
static void condition_waits_no_longer_than_asked(void) {
  const struct timespec limit = soon();
  lockyard_mutex_lock(&mutex);
  for (int64_t ns = -moment_ns; ns <= moment_ns; ns += moment_ns) {
    while (lockyard_condition_wait_for(&changed, &mutex, ns) != ETIMEDOUT) continue;
    elsewhere(&find_mutex_held);
  }
  while (lockyard_condition_wait_until(&changed, &mutex, &limit) != ETIMEDOUT) continue;
  elsewhere(&find_mutex_held);
  for (size_t i = 0; i < sizeof past / sizeof *past; ++i) {
    while (lockyard_condition_wait_until(&changed, &mutex, &past[i]) != ETIMEDOUT) continue;
  }
  for (size_t i = 0; i < sizeof no_time / sizeof *no_time; ++i) {
    CHECK(lockyard_condition_wait_until(&changed, &mutex, &no_time[i]) == EINVAL);
  }
  elsewhere(&find_mutex_held);
  lockyard_mutex_unlock(&mutex);
}

static lockyard_semaphore permits = LOCKYARD_SEMAPHORE_INITIALIZER(3);

static void* release_singly(void* unused) {
  for (int i = 0; i < 4; ++i) CHECK(lockyard_semaphore_release(&permits, 1) == 0);
  return unused;
}

static void semaphore_counts(void) {
  pthread_t other;
  const struct timespec limit_far = far_away();
  CHECK(lockyard_semaphore_acquire(&permits, 2) == 0);
  CHECK_REFUSED(EAGAIN, lockyard_semaphore_try_acquire(&permits, 2),
                lockyard_semaphore_acquire_for(&permits, 2, ns),
                lockyard_semaphore_acquire_until(&permits, 2, &limit));
  CHECK(lockyard_semaphore_try_acquire(&permits, 1) == 0);
  CHECK(lockyard_semaphore_try_acquire(&permits, 0) == 0);
  CHECK(pthread_create(&other, NULL, &release_singly, NULL) == 0);
  CHECK(lockyard_semaphore_acquire(&permits, 4) == 0);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(lockyard_semaphore_release(&permits, LOCKYARD_SEMAPHORE_MAX) == 0);
  CHECK(lockyard_semaphore_release(&permits, 1) == EOVERFLOW);
  CHECK(lockyard_semaphore_acquire_for(&permits, LOCKYARD_SEMAPHORE_MAX - 1, 0) == 0);
  CHECK(lockyard_semaphore_acquire_until(&permits, 1, &limit_far) == 0);
  CHECK(lockyard_semaphore_try_acquire(&permits, 1) == EAGAIN);
}

static void semaphore_refuses_what_is_no_count(void) {
  const int64_t no_counts[] = {-1, INT64_MIN, (int64_t)LOCKYARD_SEMAPHORE_MAX + 1, INT64_MAX};
  const struct timespec limit = far_away();
  lockyard_semaphore some;
  CHECK(lockyard_semaphore_init(&some, LOCKYARD_SEMAPHORE_MAX) == 0);
  CHECK(lockyard_semaphore_try_acquire(&some, LOCKYARD_SEMAPHORE_MAX) == 0);
  CHECK(lockyard_semaphore_init(&some, 1) == 0);
  for (size_t i = 0; i < sizeof no_counts / sizeof *no_counts; ++i) {
    CHECK(lockyard_semaphore_init(&some, no_counts[i]) == EINVAL);
    CHECK(lockyard_semaphore_acquire(&some, no_counts[i]) == EINVAL);
    CHECK(lockyard_semaphore_try_acquire(&some, no_counts[i]) == EINVAL);
    CHECK(lockyard_semaphore_acquire_for(&some, no_counts[i], 0) == EINVAL);
    CHECK(lockyard_semaphore_acquire_until(&some, no_counts[i], &limit) == EINVAL);
    CHECK(lockyard_semaphore_release(&some, no_counts[i]) == EINVAL);
  }
  CHECK(lockyard_semaphore_try_acquire(&some, 1) == 0);
  CHECK(lockyard_semaphore_try_acquire(&some, 1) == EAGAIN);
}

static lockyard_manual_event opened = LOCKYARD_MANUAL_EVENT_INITIALIZER;
static lockyard_auto_event handed = LOCKYARD_AUTO_EVENT_INITIALIZER;

static void* set_both(void* unused) {
  lockyard_manual_event_set(&opened);
  lockyard_auto_event_set(&handed);
  return unused;
}

static void manual_event_lets_all_through(void) {
  pthread_t other;
  const struct timespec limit_far = far_away();
  CHECK_REFUSED(EAGAIN, lockyard_manual_event_try_wait(&opened),
                lockyard_manual_event_wait_for(&opened, ns),
                lockyard_manual_event_wait_until(&opened, &limit));
  CHECK(pthread_create(&other, NULL, &set_both, NULL) == 0);
  lockyard_manual_event_wait(&opened);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(lockyard_manual_event_try_wait(&opened) == 0);
  CHECK(lockyard_manual_event_wait_for(&opened, 0) == 0);
  CHECK(lockyard_manual_event_wait_until(&opened, &limit_far) == 0);
  lockyard_manual_event_reset(&opened);
  CHECK(lockyard_manual_event_try_wait(&opened) == EAGAIN);
}

static void auto_event_lets_one_through(void) {
  pthread_t other;
  const struct timespec limit_far = far_away();
  CHECK_REFUSED(EAGAIN, lockyard_auto_event_try_wait(&handed),
                lockyard_auto_event_wait_for(&handed, ns),
                lockyard_auto_event_wait_until(&handed, &limit));
  CHECK(pthread_create(&other, NULL, &set_both, NULL) == 0);
  lockyard_auto_event_wait(&handed);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(lockyard_auto_event_try_wait(&handed) == EAGAIN);
  lockyard_auto_event_set(&handed);
  CHECK(lockyard_auto_event_wait_for(&handed, 0) == 0);
  lockyard_auto_event_set(&handed);
  CHECK(lockyard_auto_event_wait_until(&handed, &limit_far) == 0);
  lockyard_auto_event_set(&handed);
  CHECK(lockyard_auto_event_try_wait(&handed) == 0);
  lockyard_auto_event_set(&handed);
  lockyard_auto_event_reset(&handed);
  CHECK(lockyard_auto_event_try_wait(&handed) == EAGAIN);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } parts[] = {{"mutex_excludes", &mutex_excludes},
               {"fair_mutex_excludes", &fair_mutex_excludes},
               {"shared_mutex_excludes", &shared_mutex_excludes},
               {"shared_mutex_is_shared", &shared_mutex_is_shared},
               {"condition_hands_turns_over", &condition_hands_turns_over},
               {"condition_is_told_to_all", &condition_is_told_to_all},
               {"condition_waits_no_longer_than_asked", &condition_waits_no_longer_than_asked},
               {"semaphore_counts", &semaphore_counts},
               {"semaphore_refuses_what_is_no_count", &semaphore_refuses_what_is_no_count},
               {"manual_event_lets_all_through", &manual_event_lets_all_through},
               {"auto_event_lets_one_through", &auto_event_lets_one_through}};
  for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; ++i) {
    if (strcmp(argv[1], parts[i].name) != 0) continue;
    errno = 77;
    parts[i].run();
    CHECK(errno == 77);
    return failures == 0 ? 0 : 1;
  }
  fprintf(stderr, "%s: the one argument names a part\n", argv[0]);
  return 2;
}
