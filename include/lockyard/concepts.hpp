// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations that a lock offers, in the terms of the standard ([thread.req.lockable]).

#include <lockyard/detail/durations.hpp>

#include <concepts>

namespace lockyard::inline v0 {

/// The lock can be acquired and released; an acquisition blocks while the lock is held.
template <class Lock>
concept basic_lockable = requires(Lock& lock) {
  lock.lock();
  lock.unlock();
};

/// The lock can also be tried: `try_lock` returns at once and says whether it acquired.
template <class Lock>
concept lockable = basic_lockable<Lock> && requires(Lock& lock) {
  { lock.try_lock() } -> std::convertible_to<bool>;
};

/// A wait for the lock can also have a time-out.
template <class Lock>
concept timed_lockable = lockable<Lock> && requires(Lock& lock, std::chrono::nanoseconds duration,
                                                    std::chrono::steady_clock::time_point limit) {
  { lock.try_lock_for(duration) } -> std::convertible_to<bool>;
  { lock.try_lock_until(limit) } -> std::convertible_to<bool>;
};

/// Many threads can also hold the lock together, as long as none holds it alone.
template <class Lock>
concept shared_lockable = lockable<Lock> && requires(Lock& lock) {
  lock.lock_shared();
  { lock.try_lock_shared() } -> std::convertible_to<bool>;
  lock.unlock_shared();
};

/// A wait for the lock, shared or exclusive, can also have a time-out.
template <class Lock>
concept shared_timed_lockable = shared_lockable<Lock> && timed_lockable<Lock> &&
                                requires(Lock& lock, std::chrono::nanoseconds duration,
                                         std::chrono::steady_clock::time_point limit) {
                                  {
                                    lock.try_lock_shared_for(duration)
                                  } -> std::convertible_to<bool>;
                                  {
                                    lock.try_lock_shared_until(limit)
                                  } -> std::convertible_to<bool>;
                                };

}  // namespace lockyard::inline v0
