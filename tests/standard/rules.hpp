// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of the standard's rules share. A suite is named after a clause of the C++20
// standard, a test after a paragraph of that clause, with the numbers of the draft N4861. A name
// with `differs` states a rule that the library documents otherwise than the standard. Behaviour
// that the standard leaves undefined has no test.

#include <lockyard/lockyard.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"
#include "support/subjects.hpp"

namespace lockyard::testing {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// A time-out that no test reaches.
inline constexpr std::chrono::hours never{24};

// The locks of the catalogue that a clause speaks of.

template <class Lock>
inline constexpr bool is_recovering = is_ours<Lock> && traits_of<Lock>().recovering;

namespace detail {
template <class Lock>
struct ours : std::bool_constant<is_ours<Lock>> {};
template <class Lock>
struct ours_timed : std::bool_constant<is_ours<Lock> && traits_of<Lock>().timed> {};
template <class Lock>
struct ours_shared : std::bool_constant<is_ours<Lock> && traits_of<Lock>().shared> {};
template <class Lock>
struct ours_shared_timed : std::bool_constant<ours_shared<Lock>::value && ours_timed<Lock>::value> {
};
template <class Lock>
struct ours_recursive : std::bool_constant<is_ours<Lock> && traits_of<Lock>().recursive> {};
template <class Lock>
struct ours_recovering : std::bool_constant<is_recovering<Lock>> {};
}  // namespace detail

/// Calls `check`, a generic function without parameters, with each lock's type.
template <class Check>
void for_each_of_ours(const Check& check) {
  for_each_lock([&check]<class Lock>(const catalog_entry<Lock>&) {
    if constexpr (is_ours<Lock>) check.template operator()<Lock>();
  });
}

template <class Check>
void for_each_timed_of_ours(const Check& check) {
  for_each_of_ours([&check]<class Lock>() {
    if constexpr (traits_of<Lock>().timed) check.template operator()<Lock>();
  });
}

using our_locks = detail::types<detail::ours>;
using our_timed_locks = detail::types<detail::ours_timed>;
using our_shared_locks = detail::types<detail::ours_shared>;
using our_shared_timed_locks = detail::types<detail::ours_shared_timed>;
using our_recursive_locks = detail::types<detail::ours_recursive>;
using our_recovering_locks = detail::types<detail::ours_recovering>;

/// The stall time-outs of the resilient locks are off, so that a busy machine ends no wait.
inline const bool stalls_are_off = [] {
  bool are_off = true;
  for_each_lock([&are_off]<class Lock>(const catalog_entry<Lock>&) {
    if constexpr (is_recovering<Lock>) {
      using resilient = std::remove_reference_t<decltype(std::declval<Lock&>().get())>;
      are_off &= resilient::set_stall_limits({stall_limits::never, stall_limits::never});
    }
  });
  return are_off;
}();

/// A fact that one thread states and others wait for.
class flag {
 public:
  void raise() { is_up_ = true; }
  [[nodiscard]] bool is_up() const { return is_up_; }
  void await() const {
    while (!is_up_) std::this_thread::yield();
  }

 private:
  std::atomic<bool> is_up_{false};
};

/// Lets other threads run for a moment. No result depends on its length: a correct lock passes with
/// any, and a faulty one is caught the more surely the longer it is.
inline void give_others_time() {
  for (int i = 0; i < 200; ++i) std::this_thread::yield();
}

/// Returns what `ask` returns on another thread. The caller waits, so `ask` must not wait for it.
inline bool elsewhere(const std::function<bool()>& ask) {
  bool answer = false;
  std::jthread{[&] { answer = ask(); }}.join();
  return answer;
}

/// Whether `acquire` waits for `release`, and then succeeds. Another thread calls `acquire`, and
/// `leave` if that returned true; this one calls `release` once the other has begun.
inline ::testing::AssertionResult waits_for(const std::function<void()>& release,
                                            const std::function<bool()>& acquire,
                                            const std::function<void()>& leave) {
  flag begins;
  flag released;
  bool was_released = false;
  bool acquired = false;
  std::jthread other{[&] {
    begins.raise();
    acquired = acquire();
    was_released = released.is_up();
    if (acquired) leave();
  }};
  begins.await();
  give_others_time();
  released.raise();
  release();
  other.join();
  if (!was_released) return ::testing::AssertionFailure() << "returned before the release";
  if (!acquired) return ::testing::AssertionFailure() << "did not acquire";
  return ::testing::AssertionSuccess();
}

/// Whether what one thread writes before it leaves is what another one reads after it has entered.
/// Nothing else orders the two, so ThreadSanitizer reports an entry that does not synchronise with
/// the exits before it. `enter` may fail, and is called again then.
inline bool publishes(const std::function<bool()>& enter_to_write,
                      const std::function<void()>& leave_written,
                      const std::function<bool()>& enter_to_read,
                      const std::function<void()>& leave_read) {
  int first = 0;
  int second = 0;
  bool agreed = true;
  std::jthread writer{[&] {
    for (int i = 1; i <= 3; ++i) {
      while (!enter_to_write()) std::this_thread::yield();
      first = i;
      second = i;
      leave_written();
    }
  }};
  for (int seen = 0; seen < 3; std::this_thread::yield()) {
    if (!enter_to_read()) continue;
    agreed &= first == second && first >= seen;
    seen = first;
    leave_read();
  }
  return agreed;
}

/// An object that can end before its memory does. A use after its end is noticed: a
/// write by `is_untouched`, any access by ThreadSanitizer.
template <class T>
class mortal {
 public:
  mortal() : object_{std::construct_at(reinterpret_cast<T*>(memory_))} {}
  T& operator*() { return *object_; }
  T* operator->() { return object_; }

  void end() {
    std::destroy_at(object_);
    // A real call: ThreadSanitizer does not see the stores that a compiler makes of a short one.
    void* (*volatile const fill)(void*, int, std::size_t) = &std::memset;
    fill(memory_, left_, sizeof memory_);
  }
  [[nodiscard]] bool is_untouched() const {
    return std::ranges::all_of(memory_, [](unsigned char each) { return each == left_; });
  }

 private:
  static constexpr unsigned char left_ = 0xA5;
  alignas(T) unsigned char memory_[sizeof(T)];
  T* object_;
};

/// A lockable that counts what is done to it, and may fail as it is told.
struct recording_lock {
  int locks = 0;
  int unlocks = 0;
  bool refuses = false;
  bool throws = false;

  void lock() { static_cast<void>(try_lock()); }
  bool try_lock() {
    if (throws) throw 1;
    if (!refuses) ++locks;
    return !refuses;
  }
  void unlock() { ++unlocks; }
};

/// A clock of its own: half as fast as the steady clock, in microseconds from the program's start.
struct slow_clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() noexcept {
    static const steady::time_point start = steady::now();
    return time_point{std::chrono::floor<duration>((steady::now() - start) / 2)};
  }
};

/// A clock that is set back at its third reading, and is past all limits from the fourth one on.
struct adjusted_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<adjusted_clock>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static inline std::atomic<int> readings{0};
  static time_point now() noexcept {
    const int reading = ++readings;
    if (reading < 3) return time_point{1ms};
    return time_point{reading == 3 ? 0ms : never};
  }
};

}  // namespace lockyard::testing
