// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vocabulary of spin loops: a condition says what the loop waits for, and a policy passes the
// time between two reads. Each world implements both in its own way. The native world reads, lets
// the policy act, and reads again; a checker schedules the thread only when a condition can hold; a
// simulator wakes the thread when the cache line changes.

#include <lockyard/detail/durations.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0 {

/// A condition to wait for: `word`, read with `order`, satisfies `predicate`. The predicate must be
/// a pure function of the value, because a world may call it at any time and any number of times.
template <class Atomic, std::predicate<typename Atomic::value_type> Predicate>
struct condition {
  const Atomic& word;
  Predicate predicate;
  std::memory_order order;

  [[nodiscard]] bool holds() const noexcept { return predicate(word.load(order)); }
};

template <class Atomic, class Predicate>
condition(const Atomic&, Predicate, std::memory_order) -> condition<Atomic, Predicate>;

/// How long a step of a policy may have taken.
enum class step_length : std::uint8_t {
  brief,  ///< much less than a clock read
  lengthy,
};

/// How a spin loop passes the time between two reads. A policy is an object with a member template
/// `step<World>()`, which is called after every failed read. It may only call `World::pause()`,
/// `World::yield()`, `World::pauses_in()` and `World::random()`, and it returns whether the step
/// may have taken long. A policy may count; passed by reference, it continues its count over
/// several waits. A policy that is written for one world may also use what that world has.
template <class Policy, class World>
concept wait_policy = requires(Policy& policy) {
  { policy.template step<World>() } noexcept -> std::same_as<step_length>;
};

namespace wait_policies {

/// Reads again at once.
struct busy {
  template <class World>
  step_length step() noexcept {
    return step_length::brief;
  }
};

/// Pauses between two reads, and never yields.
struct pausing {
  template <class World>
  step_length step() noexcept {
    World::pause();
    return step_length::brief;
  }
};

/// Pauses between two reads, and yields the processor once after every `Pauses` pauses.
template <std::uint32_t Pauses>
class pausing_then_yielding {
 public:
  template <class World>
  step_length step() noexcept {
    if (pauses_ < Pauses) {
      ++pauses_;
      World::pause();
      return step_length::brief;
    }
    pauses_ = 0;
    World::yield();
    return step_length::lengthy;
  }

 private:
  std::uint32_t pauses_ = 0;
};

/// Waits longer before every read: a random time up to a limit that doubles from `LeastNs` to
/// `MostNs` nanoseconds. The time is random so that threads that began together do not stay
/// together.
template <std::uint32_t LeastNs, std::uint32_t MostNs>
class backing_off {
  static_assert(0 < LeastNs && LeastNs <= MostNs);

 public:
  template <class World>
  step_length step() noexcept {
    const std::uint32_t most = World::pauses_in(std::chrono::nanoseconds{limit_ns_});
    for (std::uint32_t i = World::random() % most + 1; i > 0; --i) World::pause();
    limit_ns_ = limit_ns_ > MostNs / 2 ? MostNs : limit_ns_ * 2;
    return step_length::lengthy;
  }

 private:
  std::uint32_t limit_ns_ = LeastNs;
};

}  // namespace wait_policies

/// The value that lets an await end: the word is zero, false or null.
inline constexpr auto is_zero = [](auto value) noexcept { return value == decltype(value){}; };

}  // namespace lockyard::inline v0
