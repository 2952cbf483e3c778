// SPDX-License-Identifier: Apache-2.0
#pragma once

// Awaits of the simulated world: a look, and if it fails, the engine parks the thread until a look
// may succeed. The policy's steps run in a world that only adds up their lengths.

#include "word.hpp"

#include <lockyard/world/await.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <type_traits>

namespace lockyard::simulation {

using time_point = std::chrono::steady_clock::time_point;

inline ps to_ps(time_point limit) noexcept {
  const auto since = limit.time_since_epoch().count();
  return since > never / ns ? never : since * ns;
}

/// Returns the number of pauses that take the time.
inline std::uint32_t pauses_in(std::chrono::nanoseconds length) noexcept {
  const ps pause = std::max<ps>(engine::current().costs_of().pause, 1);
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(length.count() * ns / pause, 1, std::int64_t{1} << 30U));
}

/// The world of a policy's steps while its thread is parked.
struct adding_world {
  static inline ps sum = 0;
  static inline bool yields = false;

  static void begin() noexcept { sum = 0, yields = false; }
  static void pause() noexcept { sum += engine::current().costs_of().pause; }
  static void yield() noexcept { sum += engine::current().yield_length(), yields = true; }
  static std::uint32_t pauses_in(std::chrono::nanoseconds length) noexcept {
    return simulation::pauses_in(length);
  }
  static std::uint32_t random() noexcept {
    return static_cast<std::uint32_t>(engine::current().chance().next() >> 32U);
  }
};

struct awaits {
  template <class Atomic, class Predicate, class Policy>
  static typename Atomic::value_type await(const Atomic& on, Predicate predicate,
                                           std::memory_order order, Policy&& policy,
                                           location where = location::current()) noexcept {
    return *await(on, predicate, order, policy, time_point::max(), where);
  }

  template <class Atomic, class Predicate, class Policy>
  static std::optional<typename Atomic::value_type> await(
      const Atomic& on, Predicate predicate, std::memory_order order, Policy&& policy,
      time_point limit, location where = location::current()) noexcept {
    std::optional<typename Atomic::value_type> found;
    const auto look = [&] {
      const auto value = on.load(order, where);
      if (predicate(value)) found = value;
      return found.has_value();
    };
    look_until(limit, policy, false, look, condition{on, predicate, order});
    return found;
  }

  template <class Atomic, class Predicate, class Policy>
  static typename Atomic::value_type await_exchange(Atomic& on, typename Atomic::value_type desired,
                                                    Predicate predicate, std::memory_order order,
                                                    Policy&& policy,
                                                    location where = location::current()) noexcept {
    typename Atomic::value_type found{};
    const auto look = [&] {
      found = on.exchange(desired, order, where);
      return predicate(found);
    };
    const Atomic& word = on;
    look_until(time_point::max(), policy, true, look, condition{word, predicate, order});
    return found;
  }

  template <class Policy, class... Atomics, class... Predicates>
  static std::size_t await_any(Policy&& policy,
                               const condition<Atomics, Predicates>&... conditions) noexcept {
    return *await_any_until(policy, time_point::max(), conditions...);
  }

  template <class Policy, class... Atomics, class... Predicates>
  static std::optional<std::size_t> await_any_until(
      Policy&& policy, time_point limit,
      const condition<Atomics, Predicates>&... conditions) noexcept {
    static_assert(sizeof...(conditions) <= std::tuple_size_v<decltype(spin_wait::lines)>);
    std::size_t first = 0;
    const auto look = [&] {
      first = 0;
      return ((conditions.holds() || (++first, false)) || ...);
    };
    if (!look_until(limit, policy, false, look, conditions...)) return std::nullopt;
    return first;
  }

 private:
  /// A parked thread's policy and conditions, as the engine sees them.
  template <class Policy, class Test>
  struct parked : spin_wait {
    parked(Policy& of, const Test& with) : policy{of}, begun{of}, test{with} {
      holds = [](const spin_wait& self) { return static_cast<const parked&>(self).test(); };
      step = [](spin_wait& self) {
        adding_world::begin();
        static_cast<parked&>(self).policy.template step<adding_world>();
        return adding_world::sum;
      };
      repeats = [](const spin_wait& self) {
        if constexpr (std::is_empty_v<Policy>) return true;
        const auto& me = static_cast<const parked&>(self);
        return std::memcmp(&me.policy, &me.begun, sizeof(Policy)) == 0;
      };
    }

    Policy& policy;
    Policy begun;
    const Test& test;
  };

  /// Looks until it succeeds, or until the limit has passed; then looks a last time.
  template <class Policy, class Look, class... Conditions>
  static bool look_until(time_point limit, Policy& policy, bool writes, Look look,
                         const Conditions&... wanted) noexcept {
    static_assert(std::is_trivially_copyable_v<Policy>,
                  "the engine copies a policy to find out when it repeats itself");
    engine& on = engine::current();
    if (on.self() == nullptr) return look();
    const auto test = [&] { return (wanted.predicate(wanted.word.peek()) || ...); };
    const void* const words[] = {&wanted.word...};
    static constexpr char tag = 0;
    const engine::policy_facts facts = on.facts_of(&tag, &find_facts<Policy>);
    while (!look()) {
      if (to_ps(limit) <= on.now()) return look();
      const ps yield_at = facts.may_yield && on.has_company() ? time_of_yield(policy) : never;
      bool is_time = false;
      if (!test()) {
        parked<Policy, decltype(test)> wait{policy, test};
        wait.may_yield = facts.may_yield, wait.looking_share = facts.looking_share;
        wait.writes = writes && on.costs_of().storm_hops > 0;
        is_time = on.park(wait, words, sizeof...(wanted), std::min(to_ps(limit), yield_at));
      }
      if (is_time && on.now() >= yield_at && !test()) on.yield();
    }
    return true;
  }

  /// Advances the policy to its next yield.
  template <class Policy>
  static ps time_of_yield(Policy& policy) noexcept {
    constexpr ps farthest = 10 * us;
    ps sum = 0;
    for (;;) {
      adding_world::begin();
      policy.template step<adding_world>();
      if (adding_world::yields) return engine::current().now() + sum;
      sum += adding_world::sum + engine::current().costs_of().hit;
      if (sum > farthest || adding_world::sum == 0) return never;
    }
  }

  template <class Policy>
  static engine::policy_facts find_facts() noexcept {
    constexpr int most_steps = 64;
    if constexpr (!std::is_default_constructible_v<Policy>) return {1, false};
    Policy fresh{};
    ps sum = 0;
    for (int i = 0; i < most_steps; ++i) {
      adding_world::begin();
      fresh.template step<adding_world>();
      sum += adding_world::sum + engine::current().costs_of().hit;
      if (!adding_world::yields) continue;
      const auto yield = static_cast<double>(engine::current().yield_length());
      return {sum > 0 ? 1 - yield / static_cast<double>(sum) : 1.0, true};
    }
    return {1, false};
  }
};

}  // namespace lockyard::simulation
