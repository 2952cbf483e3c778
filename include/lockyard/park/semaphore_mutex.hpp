// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

namespace lockyard::inline v0 {

/// A mutex that is a semaphore with one permit: the lock that programs make where they have
/// semaphores and no mutex. docs/locks/semaphore_mutex.md explains it in detail.
///
/// Use: where one thread locks and another one unlocks, which no other lock here allows; and to
///   measure. Otherwise take `mutex`, which knows that one thread holds it.
/// Source: E. Dijkstra's binary semaphore (1965).
/// Guarantees: as `semaphore`: exclusion; no lost wake-up; timed; served in the order in which
///   sleeps began. Not recursive. It has no owner: any thread may unlock it, and the debug mode and
///   ThreadSanitizer do not treat it as a lock, because they would report that. The next owner may
///   destroy the mutex as soon as it holds it. Within one process only.
/// Size: 4 bytes. The free state is not all zero bytes.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_semaphore_mutex
    : public detail::held_assertions<basic_semaphore_mutex<W>, W, detail::ownership::none> {
 public:
  constexpr basic_semaphore_mutex() noexcept = default;
  basic_semaphore_mutex(const basic_semaphore_mutex&) = delete;
  basic_semaphore_mutex& operator=(const basic_semaphore_mutex&) = delete;

  /// Effects: acquires the mutex; while it is held, spins for as long as a sleep would cost if no
  /// thread sleeps yet, and sleeps otherwise. Its owner waits for another thread to unlock it.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: first come, first served among sleepers.
  void lock() noexcept LOCKYARD_ACQUIRE() { free_.acquire(); }

  /// Effects: acquires the mutex if it is free, and no thread sleeps; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) { return free_.try_acquire(); }

  /// As lock(), but waits for at least `duration` if it has to; returns whether it acquired.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    return free_.try_acquire_for(duration);
  }
  /// Does the same, until `Clock` has reached `limit`.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    return free_.try_acquire_until(limit);
  }

  /// Precondition: the mutex is held, by any thread.
  /// Effects: hands it to the first sleeper, or frees it.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: lock-free while no thread sleeps; otherwise it may wait for the bucket lock, and
  /// makes one system call.
  /// Errors: ends the process with a message if the mutex is free.
  void unlock() noexcept LOCKYARD_RELEASE() { free_.release(); }

 private:
  basic_semaphore<W, 1> free_{1};
};

using semaphore_mutex = basic_semaphore_mutex<>;

}  // namespace lockyard::inline v0
