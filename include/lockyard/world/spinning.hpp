// SPDX-License-Identifier: Apache-2.0
#pragma once

// Awaits for worlds whose threads really run: read, let the policy act, read again.

#include <lockyard/world/await.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0 {

template <class World>
struct spinning {
  template <class Atomic, class Predicate, class Policy>
  static typename Atomic::value_type await(const Atomic& word, Predicate predicate,
                                           std::memory_order order, Policy&& policy) noexcept {
    for (;;) {
      const auto value = word.load(order);
      if (predicate(value)) return value;
      policy.template step<World>();
    }
  }

  template <class Atomic, class Predicate, class Policy, class Deadline>
  static std::optional<typename Atomic::value_type> await(const Atomic& word, Predicate predicate,
                                                          std::memory_order order, Policy&& policy,
                                                          Deadline limit) noexcept {
    std::optional<typename Atomic::value_type> found;
    look_until(limit, policy, [&] {
      const auto value = word.load(order);
      if (predicate(value)) found = value;
      return found.has_value();
    });
    return found;
  }

  template <class Policy, class... Atomics, class... Predicates>
  static std::size_t await_any(Policy&& policy,
                               const condition<Atomics, Predicates>&... conditions) noexcept {
    for (;;) {
      const std::size_t first = first_that_holds(conditions...);
      if (first != sizeof...(conditions)) return first;
      policy.template step<World>();
    }
  }

  template <class Policy, class Deadline, class... Atomics, class... Predicates>
  static std::optional<std::size_t> await_any_until(
      Policy&& policy, Deadline limit,
      const condition<Atomics, Predicates>&... conditions) noexcept {
    std::size_t first = sizeof...(conditions);
    look_until(limit, policy, [&] {
      first = first_that_holds(conditions...);
      return first != sizeof...(conditions);
    });
    if (first == sizeof...(conditions)) return std::nullopt;
    return first;
  }

  template <class Atomic, class Predicate, class Policy>
  static typename Atomic::value_type await_exchange(Atomic& word,
                                                    typename Atomic::value_type desired,
                                                    Predicate predicate, std::memory_order order,
                                                    Policy&& policy) noexcept {
    for (;;) {
      const auto value = word.exchange(desired, order);
      if (predicate(value)) return value;
      policy.template step<World>();
    }
  }

 private:
  template <class... Conditions>
  static std::size_t first_that_holds(const Conditions&... conditions) noexcept {
    std::size_t index = 0;
    static_cast<void>(((conditions.holds() || (++index, false)) || ...));
    return index;
  }

  /// Reads until the condition holds or the deadline has passed. A clock read costs several reads
  /// of the word, so the loop reads the clock after a long step and after every 16 brief steps. A
  /// last read follows, so that a condition that came true while the thread did not run counts.
  template <class Deadline, class Policy, class Look>
  static void look_until(Deadline limit, Policy& policy, Look look) noexcept {
    constexpr std::uint32_t brief_steps_per_clock_read = 16;
    for (std::uint32_t brief_steps = 0; !look();) {
      const bool brief = policy.template step<World>() == step_length::brief;
      if (brief && ++brief_steps % brief_steps_per_clock_read != 0) continue;
      if (World::passed(limit)) {
        look();
        return;
      }
    }
  }
};

/// The base of a world that changes some members of the world `Base`: policies and deadlines within
/// the awaits use `World`, not `Base`.
template <class World, class Base>
struct derived_world : Base, spinning<World> {
  using spinning<World>::await;
  using spinning<World>::await_any;
  using spinning<World>::await_any_until;
  using spinning<World>::await_exchange;
};

}  // namespace lockyard::inline v0
