/* SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
/* Locks, semaphores and events for C: compile with what `pkg-config --cflags --libs lockyard-c`
   prints. C99 or later, or C++. docs/c.md is the manual; each object is what the C++ class of the
   same name is, and docs/locks and docs/events tell what that guarantees.

   Objects are plain structs. Define one with its initialiser, or copy that into it, before the
   first use; there is nothing to destroy. The members of a struct belong to the library; never copy
   one that is in use. None may be shared between processes.

   Functions that cannot fail return nothing. All others return 0, or why not:

     EBUSY      a lock is held, by try_...
     EAGAIN     a semaphore has too few permits, or an event is not set, by try_...
     ETIMEDOUT  the time is over
     EINVAL     a time's tv_nsec is not between 0 and 999999999, or a number of permits is negative or
                above LOCKYARD_SEMAPHORE_MAX; nothing has been done
     EOVERFLOW  a semaphore would hold more than LOCKYARD_SEMAPHORE_MAX; nothing has been done

   ..._for waits for at least so many nanoseconds; without a positive number it tries once, and returns
   ETIMEDOUT. ..._until waits until CLOCK_MONOTONIC has reached the time. If the object
   is available at once, a time that has passed does not matter. errno is left as it was. */
/* clang-format on */

#ifndef LOCKYARD_H
#define LOCKYARD_H

#include <stdint.h>
#include <time.h>

#if defined(__GNUC__)
#define LOCKYARD_API __attribute__((visibility("default"), nonnull))
#define LOCKYARD_CHECKED __attribute__((warn_unused_result))
#else
#define LOCKYARD_API
#define LOCKYARD_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* C99 alone does not have it */

/* The mutex to take by default. Not recursive; unlocked by the thread that locked it. */

typedef struct lockyard_mutex {
  uint8_t lockyard_private;
} lockyard_mutex;
#define LOCKYARD_MUTEX_INITIALIZER {0}

LOCKYARD_API void lockyard_mutex_lock(lockyard_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_mutex_try_lock(lockyard_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_mutex_lock_for(lockyard_mutex* mutex, int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_mutex_lock_until(lockyard_mutex* mutex,
                                                            const struct timespec* limit);
LOCKYARD_API void lockyard_mutex_unlock(lockyard_mutex* mutex);

/* A mutex that serves its waiters in their order, except that a few newcomers may barge. */

typedef struct lockyard_fair_mutex {
  uint64_t lockyard_private;
} lockyard_fair_mutex;
#define LOCKYARD_FAIR_MUTEX_INITIALIZER {0}

LOCKYARD_API void lockyard_fair_mutex_lock(lockyard_fair_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_fair_mutex_try_lock(lockyard_fair_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_fair_mutex_lock_for(lockyard_fair_mutex* mutex,
                                                               int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_fair_mutex_lock_until(lockyard_fair_mutex* mutex,
                                                                 const struct timespec* limit);
LOCKYARD_API void lockyard_fair_mutex_unlock(lockyard_fair_mutex* mutex);

/* A lock that one writer holds alone, or many readers together with one upgrader, which
   may become a writer without a release. */

typedef struct lockyard_shared_mutex {
  uint32_t lockyard_private;
} lockyard_shared_mutex;
#define LOCKYARD_SHARED_MUTEX_INITIALIZER {0}

LOCKYARD_API void lockyard_shared_mutex_lock(lockyard_shared_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_try_lock(lockyard_shared_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_lock_for(lockyard_shared_mutex* mutex,
                                                                 int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_lock_until(lockyard_shared_mutex* mutex,
                                                                   const struct timespec* limit);
LOCKYARD_API void lockyard_shared_mutex_unlock(lockyard_shared_mutex* mutex);

LOCKYARD_API void lockyard_shared_mutex_lock_shared(lockyard_shared_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_try_lock_shared(
    lockyard_shared_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_lock_shared_for(
    lockyard_shared_mutex* mutex, int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_lock_shared_until(
    lockyard_shared_mutex* mutex, const struct timespec* limit);
LOCKYARD_API void lockyard_shared_mutex_unlock_shared(lockyard_shared_mutex* mutex);

LOCKYARD_API void lockyard_shared_mutex_lock_upgrade(lockyard_shared_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_shared_mutex_try_lock_upgrade(
    lockyard_shared_mutex* mutex);
LOCKYARD_API void lockyard_shared_mutex_unlock_upgrade(lockyard_shared_mutex* mutex);
/* From upgrader to writer: waits for the readers that are there. No thread writes in between. */
LOCKYARD_API void lockyard_shared_mutex_unlock_upgrade_and_lock(lockyard_shared_mutex* mutex);
/* From upgrader to reader, from writer to reader, from writer to upgrader: all at once. */
LOCKYARD_API void lockyard_shared_mutex_unlock_upgrade_and_lock_shared(
    lockyard_shared_mutex* mutex);
LOCKYARD_API void lockyard_shared_mutex_unlock_and_lock_shared(lockyard_shared_mutex* mutex);
LOCKYARD_API void lockyard_shared_mutex_unlock_and_lock_upgrade(lockyard_shared_mutex* mutex);

/* A condition variable for lockyard_mutex: all threads that wait at one time use the same mutex,
   which the caller holds. A wait releases the mutex and waits, as one step for notifying threads,
   and holds the mutex again when it returns, whatever it returns. It may end for
   no reason, so look at the condition again. */

typedef struct lockyard_condition {
  uint64_t lockyard_private[2];
} lockyard_condition;
#define LOCKYARD_CONDITION_INITIALIZER {{0}}

LOCKYARD_API void lockyard_condition_wait(lockyard_condition* condition, lockyard_mutex* mutex);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_condition_wait_for(lockyard_condition* condition,
                                                              lockyard_mutex* mutex, int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_condition_wait_until(lockyard_condition* condition,
                                                                lockyard_mutex* mutex,
                                                                const struct timespec* limit);
LOCKYARD_API void lockyard_condition_notify_one(lockyard_condition* condition);
LOCKYARD_API void lockyard_condition_notify_all(lockyard_condition* condition);

/* Permits: acquired several at once or not at all, first come, first served; released by any thread.
   A constant initialiser that is not a number of permits does not compile. */

typedef struct lockyard_semaphore {
  uint32_t lockyard_private;
} lockyard_semaphore;
#define LOCKYARD_SEMAPHORE_MAX INT32_MAX
/* `permits` must be a constant expression; for other numbers there is lockyard_semaphore_init(). */
#define LOCKYARD_SEMAPHORE_INITIALIZER(permits) \
  {(uint32_t)(permits) * 2U *                   \
   (uint32_t)sizeof(char[(permits) >= 0 && (permits) <= LOCKYARD_SEMAPHORE_MAX ? 1 : -1])}

LOCKYARD_API LOCKYARD_CHECKED int lockyard_semaphore_init(lockyard_semaphore* semaphore,
                                                          int64_t permits);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_semaphore_acquire(lockyard_semaphore* semaphore,
                                                             int64_t permits);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_semaphore_try_acquire(lockyard_semaphore* semaphore,
                                                                 int64_t permits);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_semaphore_acquire_for(lockyard_semaphore* semaphore,
                                                                 int64_t permits, int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_semaphore_acquire_until(lockyard_semaphore* semaphore,
                                                                   int64_t permits,
                                                                   const struct timespec* limit);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_semaphore_release(lockyard_semaphore* semaphore,
                                                             int64_t permits);

/* An event that, once set, lets every thread through until it is reset. To begin with it is not
 * set. */

typedef struct lockyard_manual_event {
  uint32_t lockyard_private;
} lockyard_manual_event;
#define LOCKYARD_MANUAL_EVENT_INITIALIZER {0}

LOCKYARD_API void lockyard_manual_event_set(lockyard_manual_event* event);
LOCKYARD_API void lockyard_manual_event_reset(lockyard_manual_event* event);
LOCKYARD_API void lockyard_manual_event_wait(lockyard_manual_event* event);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_manual_event_try_wait(lockyard_manual_event* event);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_manual_event_wait_for(lockyard_manual_event* event,
                                                                 int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_manual_event_wait_until(lockyard_manual_event* event,
                                                                   const struct timespec* limit);

/* An event that lets one thread through each time it is set: the one that has waited longest, or
   the next that comes. To begin with it is not set. */

typedef struct lockyard_auto_event {
  uint8_t lockyard_private;
} lockyard_auto_event;
#define LOCKYARD_AUTO_EVENT_INITIALIZER {0}

LOCKYARD_API void lockyard_auto_event_set(lockyard_auto_event* event);
LOCKYARD_API void lockyard_auto_event_reset(lockyard_auto_event* event);
LOCKYARD_API void lockyard_auto_event_wait(lockyard_auto_event* event);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_auto_event_try_wait(lockyard_auto_event* event);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_auto_event_wait_for(lockyard_auto_event* event,
                                                               int64_t ns);
LOCKYARD_API LOCKYARD_CHECKED int lockyard_auto_event_wait_until(lockyard_auto_event* event,
                                                                 const struct timespec* limit);

#ifdef __cplusplus
}
#endif

#endif
