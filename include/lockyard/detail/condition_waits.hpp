// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace lockyard::inline v0::detail {

template <class T>
inline constexpr bool is_unique_lock = false;
template <class Lock>
inline constexpr bool is_unique_lock<std::unique_lock<Lock>> = true;

/// A std::unique_lock, or a class that derives from one.
template <class T>
concept unique_lock_like = requires(T& held) { []<class Lock>(std::unique_lock<Lock>&) {}(held); };

/// A type that a wait releases and acquires by the type's own members. A class that derives from
/// std::unique_lock is such a type only for a condition variable with the member
/// `takes_derived_locks`, as in std::condition_variable_any; for other condition variables an
/// object of the class stands for the lock that it holds.
template <class T, class Condition>
concept held_itself =
    !unique_lock_like<T> || (requires { Condition::takes_derived_locks; } && !is_unique_lock<T>);

/// The waits of a condition variable, as the standard defines them ([thread.condition]), except
/// that they also accept a lock where the standard requires a std::unique_lock. A condition
/// variable derives from `condition_waits<itself, W>`, makes it a friend, and has one protected
/// member:
/// - `bool wait_once(lock, watch[, typename W::deadline])` waits, and returns false if the deadline
///   ended the wait. Once notifiers can find the thread, and the lock is released, it calls
///   `watch(end)`, and keeps the result until it has the lock again. `end()` ends this wait and no
///   other one, and returns true; it returns false, and does nothing, if the wait has ended: then
///   the condition variable may be gone.
/// So a stop finds the thread waiting, or comes before the watch, which then calls `end` itself.
/// Empty: it adds no byte.
///
/// Precondition of each wait: the calling thread holds `lock`. When the wait returns, the thread
/// holds the lock again. Effects: releases the lock and waits, as one step for each notifying
/// thread. A wait without a predicate may end spuriously; a wait with a predicate ends when
/// `holds()`, called under the lock, returns true. Synchronisation: as the lock's unlock and lock.
/// Errors: the exceptions of `holds`; the lock is held then.
template <class Condition, world W>
class condition_waits {
 public:
  template <held_itself<Condition> Lock>
  void wait(Lock& lock) noexcept LOCKYARD_REQUIRES(lock) {
    self().wait_once(lock, without_stop);
  }
  template <held_itself<Condition> Lock, class Predicate>
  void wait(Lock& lock, Predicate holds) LOCKYARD_REQUIRES(lock) {
    while (!holds()) wait(lock);
  }
  /// Also ends when a stop is requested; returns whether `holds()`.
  template <held_itself<Condition> Lock, class Predicate>
  bool wait(Lock& lock, std::stop_token stop, Predicate holds) LOCKYARD_REQUIRES(lock) {
    return wait_or_stop(stop, holds, [&] {
      self().wait_once(lock, watching(stop));
      return true;
    });
  }

  /// Waits for at most `duration`, measured by the steady clock, if `duration` is positive.
  /// Otherwise releases the lock and acquires it again.
  template <held_itself<Condition> Lock, class Rep, class Period>
  std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration) noexcept
      LOCKYARD_REQUIRES(lock) {
    return status(self().wait_once(lock, without_stop, in(duration)));
  }
  /// Returns whether `holds()`.
  template <held_itself<Condition> Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration, Predicate holds)
      LOCKYARD_REQUIRES(lock) {
    const typename W::deadline limit = in(duration);
    while (!holds()) {
      if (!self().wait_once(lock, without_stop, limit)) return holds();
    }
    return true;
  }
  template <held_itself<Condition> Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::stop_token stop,
                const std::chrono::duration<Rep, Period>& duration, Predicate holds)
      LOCKYARD_REQUIRES(lock) {
    const typename W::deadline limit = in(duration);
    return wait_or_stop(stop, holds, [&] { return self().wait_once(lock, watching(stop), limit); });
  }

  /// Waits until `Clock` has reached `limit`; see `limit_by` in deadlines.hpp. The clock is read
  /// again at the end: if a steady clock runs slow, the wait has ended spuriously.
  template <held_itself<Condition> Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock,
                            const std::chrono::time_point<Clock, Duration>& limit) noexcept
      LOCKYARD_REQUIRES(lock) {
    return status(wait_by(lock, without_stop, limit));
  }
  /// Returns whether `holds()`.
  template <held_itself<Condition> Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& limit,
                  Predicate holds) LOCKYARD_REQUIRES(lock) {
    while (!holds()) {
      if (!wait_by(lock, without_stop, limit)) return holds();
    }
    return true;
  }
  template <held_itself<Condition> Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, std::stop_token stop,
                  const std::chrono::time_point<Clock, Duration>& limit, Predicate holds)
      LOCKYARD_REQUIRES(lock) {
    return wait_or_stop(stop, holds, [&] { return wait_by(lock, watching(stop), limit); });
  }

  // A std::unique_lock stands for the lock that it holds, and so does an object of a derived class,
  // unless `held_itself` is true for the class. Clang's analysis does not know that.

  template <class Held, class... Rest>
    requires(!held_itself<Held, Condition>)
  auto wait(Held& held, Rest&&... rest) LOCKYARD_UNCHECKED {
    return wait(lock_of(held), std::forward<Rest>(rest)...);
  }
  template <class Held, class... Rest>
    requires(!held_itself<Held, Condition>)
  auto wait_for(Held& held, Rest&&... rest) LOCKYARD_UNCHECKED {
    return wait_for(lock_of(held), std::forward<Rest>(rest)...);
  }
  template <class Held, class... Rest>
    requires(!held_itself<Held, Condition>)
  auto wait_until(Held& held, Rest&&... rest) LOCKYARD_UNCHECKED {
    return wait_until(lock_of(held), std::forward<Rest>(rest)...);
  }

 private:
  Condition& self() noexcept { return static_cast<Condition&>(*this); }
  template <class Lock>
  static Lock& lock_of(std::unique_lock<Lock>& held) noexcept {
    return *held.mutex();
  }

  static constexpr auto without_stop = [](const auto& /*end*/) noexcept { return false; };
  static auto watching(const std::stop_token& stop) noexcept {
    return [&stop](auto end) noexcept { return std::stop_callback{stop, end}; };
  }

  static std::cv_status status(bool in_time) noexcept {
    return in_time ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  template <class Rep, class Period>
  static auto in(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return W::deadline_after(to_nanoseconds(duration));
  }
  template <class Lock, class Watch, class Clock, class Duration>
  bool wait_by(Lock& lock, Watch watch,
               const std::chrono::time_point<Clock, Duration>& limit) noexcept {
    const limit_by<W, Clock, Duration> end{limit};
    return self().wait_once(lock, watch, end.deadline(end.left())) || end.left().count() != 0;
  }

  template <class Predicate, class Wait>
  static bool wait_or_stop(const std::stop_token& stop, Predicate& holds, Wait wait_once) {
    while (!stop.stop_requested()) {
      if (holds()) return true;
      if (!wait_once()) break;
    }
    return holds();
  }
};

}  // namespace lockyard::inline v0::detail
