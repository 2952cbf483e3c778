// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

namespace lockyard::inline v0::detail {

/// The timed half of a parking lock, as the standard defines it
/// ([thread.timedmutex.requirements]). A lock derives from `timed_lock<itself, W>`, makes it a
/// friend, and has two private members: `bool take()`, which acquires the lock if that is possible
/// at once, and `bool take_until(typename W::deadline)`, which waits for the lock and returns false
/// if the deadline passed first. Empty: it adds no byte.
template <class Lock, world W>
class LOCKYARD_CAPABILITY timed_lock {
 public:
  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock, waiting for at least `duration` if it has to; returns whether it
  /// did. Without a positive duration: as try_lock(). Measured by the steady clock.
  /// Synchronisation: as lock() if it returns true, none otherwise.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{&self(), W::trying};
    return scope.result(self().take() || wait_within<W>(duration, take_by()));
  }

  /// The same, until `Clock` has reached `limit`; see `wait_up_to` in deadlines.hpp.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{&self(), W::trying};
    return scope.result(self().take() || wait_up_to<W>(limit, take_by()));
  }

  /// Acquires `part`, a lock inside another lock of this library, by a deadline of the world.
  [[nodiscard]] static bool take_within(Lock& part, typename W::deadline limit) noexcept {
    typename W::acquiring scope{&part, W::trying};
    return scope.result(part.take() || part.take_until(limit));
  }

  // The same as in held_assertions, which is not a base here: GCC 12 fails to compile
  // `new (place) Lock()` at -Og where the only byte of a lock comes after two levels of empty
  // bases.

  void assert_held() const noexcept LOCKYARD_ASSERT_HELD(this) {
    static_cast<void>(W::expect_held(&self()));
  }
  void assert_not_held() const noexcept LOCKYARD_EXCLUDES(this) {
    static_cast<void>(W::expect_not_held(&self()));
  }

 private:
  Lock& self() noexcept { return static_cast<Lock&>(*this); }
  const Lock& self() const noexcept { return static_cast<const Lock&>(*this); }

  auto take_by() noexcept {
    return [this](typename W::deadline limit) { return self().take_until(limit); };
  }
};

/// The same for threads that share the lock ([thread.sharedtimedmutex.requirements]), with the
/// members `take_shared()` and `take_shared_until(typename W::deadline)`.
template <class Lock, world W>
class LOCKYARD_CAPABILITY timed_shared_lock : public timed_lock<Lock, W> {
 public:
  /// The same as try_lock_for(), but acquires the lock shared.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(
      const std::chrono::duration<Rep, Period>& duration) noexcept
      LOCKYARD_TRY_ACQUIRE_SHARED(true) {
    typename W::acquiring scope{&self(), W::trying_to_share};
    return scope.result(self().take_shared() || wait_within<W>(duration, take_shared_by()));
  }

  /// The same as try_lock_until(), but acquires the lock shared.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(
      const std::chrono::time_point<Clock, Duration>& limit) noexcept
      LOCKYARD_TRY_ACQUIRE_SHARED(true) {
    typename W::acquiring scope{&self(), W::trying_to_share};
    return scope.result(self().take_shared() || wait_up_to<W>(limit, take_shared_by()));
  }

  /// Asserts that the calling thread shares the lock, or holds it exclusively.
  void assert_held_shared() const noexcept LOCKYARD_ASSERT_HELD_SHARED(this) {
    static_cast<void>(W::expect_held(static_cast<const Lock*>(this), W::sharing));
  }

 private:
  Lock& self() noexcept { return static_cast<Lock&>(*this); }

  auto take_shared_by() noexcept {
    return [this](typename W::deadline limit) { return self().take_shared_until(limit); };
  }
};

}  // namespace lockyard::inline v0::detail
