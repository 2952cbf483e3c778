// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/concepts.hpp>
#include <lockyard/detail/annotations.hpp>

namespace lockyard::inline v0 {

/// Holds a lock from its constructor to its destructor, and does nothing else: a std::lock_guard
/// that Clang's thread-safety analysis can follow. libstdc++'s guards carry no annotations, so the
/// analysis reports uses of LOCKYARD_GUARDED_BY data under them although the lock is held; in all
/// other respects they serve as well.
template <basic_lockable Mutex>
class LOCKYARD_SCOPED_CAPABILITY [[nodiscard]] guard {
 public:
  using mutex_type = Mutex;

  /// Precondition: the calling thread does not hold `lock`. Effects: acquires it.
  explicit guard(Mutex& lock) noexcept(noexcept(lock.lock())) LOCKYARD_ACQUIRE(lock)
      : mutex_{lock} {
    mutex_.lock();
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  /// Precondition: the thread that made the guard destroys it. Effects: releases the lock.
  ~guard() LOCKYARD_RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

/// Holds a lock shared, for a reader: std::shared_lock as a scope, with annotations.
template <shared_lockable Mutex>
class LOCKYARD_SCOPED_CAPABILITY [[nodiscard]] shared_guard {
 public:
  using mutex_type = Mutex;

  /// Precondition: the calling thread does not hold `lock`. Effects: acquires it, shared.
  explicit shared_guard(Mutex& lock) noexcept(noexcept(lock.lock_shared()))
      LOCKYARD_ACQUIRE_SHARED(lock)
      : mutex_{lock} {
    mutex_.lock_shared();
  }
  shared_guard(const shared_guard&) = delete;
  shared_guard& operator=(const shared_guard&) = delete;
  /// Precondition: the thread that made the guard destroys it. Effects: releases the lock.
  ~shared_guard() LOCKYARD_RELEASE() { mutex_.unlock_shared(); }

 private:
  Mutex& mutex_;
};

}  // namespace lockyard::inline v0
