// SPDX-License-Identifier: Apache-2.0
#pragma once

// The guard: deadlocks before the last thread sleeps, orders of locks that could deadlock, long
// holds, and mutexes unlocked or destroyed wrongly. It writes what it finds into the file.

#include "../glibc.hpp"
#include "layout.hpp"

namespace lockyard::preload::record {

enum class guard_mode : u32 { off, report, error, error_to_all, abort };
extern guard_mode guarding;

/// Reads LOCKYARD_GUARD and LOCKYARD_LONG_HOLD_NS.
void begin_guard();

/// After a fork, in the child.
void forget_guard(u32 parent_tid);

/// The thread has published that it waits for the mutex. Returns what it must return in place of
/// waiting, or 0.
int guard_wait(pthread_mutex_t* m, thread_block& own, const void* site, u64 begin_ticks);

/// The same for a wait for an rwlock or for the end of a thread.
int guard_wait_for_other(const void* site, u64 begin_ticks);

/// The thread has acquired the rwlock, or is about to release it.
void guard_took_rwlock(const void* lock, const void* site);
void guard_gives_rwlock(const void* lock);

/// The thread has acquired the mutex; `is_try` if it would not have waited for it.
void guard_acquired(pthread_mutex_t* m, const void* site, bool is_try);

/// The thread is about to unlock the mutex.
void guard_unlock(pthread_mutex_t* m, const void* site);

/// The thread is about to wait for a condition, which unlocks the mutex.
void guard_released(pthread_mutex_t* m);

/// The thread is about to end. Returns whether it still holds mutexes: the destructors of other
/// libraries' thread-local data may unlock them.
bool holds_mutexes();

/// The thread has ended with what it holds.
void guard_end();

/// The thread is about to destroy the mutex.
void guard_destroy(pthread_mutex_t* m, const void* site);

}  // namespace lockyard::preload::record
