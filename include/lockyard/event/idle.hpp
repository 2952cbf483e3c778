// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>

namespace lockyard::inline v0 {

namespace idle {

/// How threads that have nothing to do pass the time, and the cost of calling them back. A policy
/// is a class `P` with a member template `P::in<World>`; an object of it stands for all threads
/// that wait for the same condition on the same word.
///
/// - `wait(word, predicate)`: returns once a look at the word has found a value for which the
///   predicate, a pure function of it, holds. The look is a hint: it orders nothing, and the value
///   may have changed since. Any number of threads may wait.
/// - `notify_one()`, `notify_all()`: must be called after every change that may let the predicate
///   hold. Threads that come to wait from now on will see everything that the caller did before; of
///   the threads that wait already, one or all look again.
/// - `label`: the policy's name in tables.
///
/// docs/events/worker_pool.md compares them.
template <class Policy, class W>
concept policy =
    world<W> && std::default_initializable<typename Policy::template in<W>> &&
    requires(typename Policy::template in<W>& place, const atomic<W, std::uint32_t>& word,
             lockyard::detail::any_value predicate) {
      { place.wait(word, predicate) } noexcept;
      { place.notify_one() } noexcept;
      { place.notify_all() } noexcept;
      { Policy::label } -> std::convertible_to<const char*>;
    };

namespace detail {

/// Looks all the time, and follows an await's policy between two looks.
template <class WaitPolicy>
struct awaiting {
  template <world W>
  class in {
   public:
    template <class Atomic, class Predicate>
    void wait(const Atomic& word, Predicate predicate) noexcept {
      // relaxed(hint): the waiter looks again.
      W::await(word, predicate, std::memory_order_relaxed, WaitPolicy{});
    }
    void notify_one() noexcept {}
    void notify_all() noexcept {}
  };
};

/// Sleeps by an event count.
template <idle_policy Policy>
struct counting {
  template <world W>
  class in {
   public:
    template <class Atomic, class Predicate>
    void wait(const Atomic& word, Predicate predicate) noexcept {
      // relaxed(fence): the event count orders the last look against the change.
      events_.await([&] { return predicate(word.load(std::memory_order_relaxed)); });
    }
    void notify_one() noexcept { events_.notify_one(); }
    void notify_all() noexcept { events_.notify_all(); }

   private:
    basic_event_count<W, Policy> events_;
  };
};

}  // namespace detail

/// Looks without a break: sees work soonest, and burns the most processor time.
struct spin : detail::awaiting<wait_policies::busy> {
  static constexpr const char* label = "spin";
};

/// Tells the processor between two looks that it spins. As quick; leaves more to a hyper-thread.
struct pause : detail::awaiting<wait_policies::pausing> {
  static constexpr const char* label = "pause";
};

/// Offers the processor to other threads between two looks. Alone on it, burns just as much.
struct yield : detail::awaiting<wait_policies::pausing_then_yielding<0>> {
  static constexpr const char* label = "yield";
};

/// Looks once in `Us` microseconds and sleeps in between. Costs next to nothing, and work waits for
/// half of that time in the mean, plus the slack of the system's timers.
template <std::uint32_t Us>
struct sleeping_for {
  static_assert(Us > 0, "a sleep of no length is a spin");
  static constexpr const char* label = "sleep";

  template <world W>
  class in {
   public:
    template <class Atomic, class Predicate>
    void wait(const Atomic& word, Predicate predicate) noexcept {
      // relaxed(hint): the waiter looks again.
      while (!predicate(word.load(std::memory_order_relaxed))) {
        static_cast<void>(
            W::wait(nobody_wakes_, 0, W::deadline_after(std::chrono::microseconds{Us})));
      }
    }
    void notify_one() noexcept {}
    void notify_all() noexcept {}

   private:
    atomic<W, std::uint32_t> nobody_wakes_{0};
  };
};
using sleep = sleeping_for<1000>;

/// Sleeps until it is notified. Costs nothing while there is nothing to do, and a trip into the
/// kernel at either end when there is.
///
/// No lost wake-up: by event_count, whose await() counts the waiter, looks again, and only then
/// sleeps. The mutant idle_looks_first, which leaves that second look out, hangs.
struct event : detail::counting<idle_policy::sleep> {
  static constexpr const char* label = "event";
};

/// Spins for about as long as sleeping and being woken would cost, if recent waits were that short,
/// and then sleeps until it is notified. It learns how short they were.
struct spin_then_event : detail::counting<idle_policy::spin> {
  static constexpr const char* label = "spin_then_event";
};

}  // namespace idle

}  // namespace lockyard::inline v0
