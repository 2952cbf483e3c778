// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/concepts.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/park/mutex.hpp>

#include <cassert>
#include <concepts>
#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

namespace lockyard::inline v0 {

template <class T, lockable Mutex = mutex>
class guarded;

/// Holds the lock of a `guarded` and gives the only access to its data, like a pointer. The object
/// that try_lock() returns may hold nothing; test it in a condition. A moved-from object holds
/// nothing.
template <class T, lockable Mutex>
class [[nodiscard]] access {
 public:
  /// Returns true if this object holds the lock, as every object from lock() does.
  explicit operator bool() const noexcept { return held_.owns_lock(); }

  /// Precondition: this object holds the lock. The reference is valid while this object holds it.
  T& operator*() const& noexcept { return *operator->(); }
  T* operator->() const& noexcept {
    assert(held_.owns_lock());
    return value_;
  }
  // The lock would be released at the end of the expression, and a reference would outlive it.
  void operator*() const&& = delete;
  void operator->() const&& = delete;

 private:
  template <class, lockable M>
  friend class guarded;

  access(T& value, std::unique_lock<Mutex> held) noexcept
      : value_{&value}, held_{std::move(held)} {}

  T* value_;
  std::unique_lock<Mutex> held_;
};

/// Data and the lock that protects them, as one object: code that has not acquired the lock cannot
/// reach the data.
///
/// The lock determines progress and fairness. Size: the size of a structure with the lock and the
/// data as members. Constant-initialised if the data are. Cannot be copied or moved, like the lock.
template <class T, lockable Mutex>
class guarded {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "guards an object, not a reference");

 public:
  using value_type = T;
  using mutex_type = Mutex;

  /// Value-initialises the data: zero for a number.
  constexpr guarded() noexcept(std::is_nothrow_default_constructible_v<T>)
    requires std::default_initializable<T>
  = default;
  constexpr explicit guarded(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
      : value_(std::move(value)) {}
  /// Constructs the data in place from these arguments; the data need not be movable.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  constexpr explicit guarded(std::in_place_t /*tag*/, Arguments&&... arguments)
      : value_(std::forward<Arguments>(arguments)...) {}

  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;

  /// Precondition: the calling thread does not hold the lock. Effects: acquires it; the returned
  /// object's destructor releases it, and must run in the thread that locked.
  /// Synchronisation: all that earlier owners did to the data happens before the return.
  auto lock() & { return access<T, Mutex>{value_, std::unique_lock{mutex_}}; }
  auto lock() const& { return access<const T, Mutex>{value_, std::unique_lock{mutex_}}; }

  /// Precondition: as lock(). Effects: acquires the lock if it is free; the returned object
  /// converts to true if it did.
  auto try_lock() & { return tried(value_, std::try_to_lock); }
  auto try_lock() const& { return tried(value_, std::try_to_lock); }

  /// As try_lock(), but while the lock is held, waits for at least `duration`, or until the clock
  /// has reached `limit`.
  template <class Rep, class Period>
    requires timed_lockable<Mutex>
  auto try_lock_for(const std::chrono::duration<Rep, Period>& duration) & {
    return tried(value_, duration);
  }
  template <class Rep, class Period>
    requires timed_lockable<Mutex>
  auto try_lock_for(const std::chrono::duration<Rep, Period>& duration) const& {
    return tried(value_, duration);
  }
  template <class Clock, class Duration>
    requires timed_lockable<Mutex>
  auto try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) & {
    return tried(value_, limit);
  }
  template <class Clock, class Duration>
    requires timed_lockable<Mutex>
  auto try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) const& {
    return tried(value_, limit);
  }

  /// Calls `function` with the data while it holds the lock, and returns a copy of the function's
  /// result: a reference into the data would outlive the lock.
  template <std::invocable<T&> Function>
  auto with(Function&& function) & {
    const std::unique_lock held{mutex_};
    return std::invoke(std::forward<Function>(function), value_);
  }
  template <std::invocable<const T&> Function>
  auto with(Function&& function) const& {
    const std::unique_lock held{mutex_};
    return std::invoke(std::forward<Function>(function), value_);
  }

  // A temporary would be destroyed before the guarded data are used.
  void lock() const&& = delete;
  void try_lock() const&& = delete;
  template <class Duration>
  void try_lock_for(const Duration&) const&& = delete;
  template <class Limit>
  void try_lock_until(const Limit&) const&& = delete;

 private:
  template <class Value, class How>
  access<Value, Mutex> tried(Value& value, const How& how) const {
    return {value, std::unique_lock<Mutex>{mutex_, how}};
  }

  mutable Mutex mutex_;
  T value_{};
};

}  // namespace lockyard::inline v0
