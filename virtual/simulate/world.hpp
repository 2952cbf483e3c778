// SPDX-License-Identifier: Apache-2.0
#pragma once

// The simulated world: what a lock requests of the machine is charged to the engine's clock.

#include "awaits.hpp"

#include <lockyard/world/world.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace lockyard::simulation {

struct simulated : awaits {
  template <class T>
  using atomic = word<T>;
  template <class T>
  using var = plain_data<T>;

  static void fence(std::memory_order order) noexcept {
    if (order != std::memory_order_seq_cst) return;
    on().drain_stores();
    on().operate(cost().locked);
  }
  static void asymmetric_fence_light() noexcept {}
  /// Linux interrupts every other processor that runs a thread of the process.
  static bool asymmetric_fence_heavy() noexcept {
    on().drain_stores();
    on().operate(cost().futex_wake + cost().interrupt);
    return true;
  }
  static bool asymmetric_fence_register() noexcept { return true; }
  struct registered_t {};
  static constexpr registered_t registered{};
  static void asymmetric_fence_light(registered_t /*tag*/) noexcept {}

  // Waiting

  using time_point = simulation::time_point;
  using deadline = time_point;
  static constexpr deadline never = deadline::max();
  enum class wait_result : std::uint8_t { woken, changed, timed_out };

  static void pause() noexcept { on().operate(cost().pause); }
  static void yield() noexcept { on().yield(); }
  static std::uint32_t pauses_in(std::chrono::nanoseconds length) noexcept {
    return simulation::pauses_in(length);
  }
  static deadline spin_limit(
      std::chrono::nanoseconds most = std::chrono::nanoseconds::max()) noexcept {
    return now() + std::min(std::chrono::nanoseconds{cost().spin_limit / ns}, most);
  }

  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          deadline limit = never) noexcept {
    on().permit_repetition();
    on().drain_stores();
    on().operate(cost().futex_wait);
    on().read(&word);
    if (word.peek() != expected) return wait_result::changed;
    if (to_ps(limit) <= on().now()) return wait_result::timed_out;
    return on().sleep(&word, to_ps(limit)) ? wait_result::woken : wait_result::timed_out;
  }
  static std::uint32_t wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
    on().drain_stores();
    return static_cast<std::uint32_t>(on().wake(&word, as_count(count)));
  }
  static void wake_each(const void* const* words, std::uint32_t count) noexcept {
    on().drain_stores();
    for (std::uint32_t i = 0; i < count; ++i) on().wake(words[i], 1);
  }
  static std::optional<std::uint32_t> requeue(const atomic<std::uint32_t>& from,
                                              std::uint32_t expected, std::uint32_t count,
                                              std::uint32_t move,
                                              const atomic<std::uint32_t>& to) noexcept {
    on().drain_stores();
    on().operate(cost().futex_wake);
    if (from.peek() != expected) return std::nullopt;
    return static_cast<std::uint32_t>(on().requeue(&from, as_count(count), as_count(move), &to));
  }

  // Priority inheritance: the kernel hands the word to the waiter with the highest priority, the
  // first of equals. Until then the owner has that priority.

  static std::uint32_t thread_id() noexcept { return static_cast<std::uint32_t>(self() + 1); }
  static bool is_real_time() noexcept {
    return on().self() != nullptr && on().has_strict_priorities() && on().self()->own.priority > 0;
  }
  static bool pi_lock(atomic<std::uint32_t>& word, deadline limit = never) noexcept {
    on().drain_stores();
    on().operate(cost().futex_wait);
    on().take_exclusively(&word);
    if (word.peek() == 0) {
      word.set(thread_id());
      return true;
    }
    word.set(word.peek() | has_waiters);
    on().sleep_behind(on().thread_with(static_cast<int>(word.peek() & ~has_waiters) - 1), &word,
                      to_ps(limit));
    return (word.peek() & ~has_waiters) == thread_id();
  }
  static void pi_unlock(atomic<std::uint32_t>& word) noexcept {
    on().drain_stores();
    on().operate(cost().futex_wait);
    on().take_exclusively(&word);
    const thread* const next = on().hand_over(&word);
    word.set(next == nullptr ? 0 : static_cast<std::uint32_t>(next->id + 1) | has_waiters);
  }

  // Environment

  static time_point now() noexcept {
    on().operate(on().with_sibling(cost().clock_read));
    return time_point{std::chrono::nanoseconds{on().now() / ns}};
  }
  static deadline deadline_after(std::chrono::nanoseconds length) noexcept {
    const time_point start = now();
    return length < deadline::max() - start ? start + length : deadline::max();
  }
  static deadline deadline_at(const adjustable_limit& /*limit*/,
                              std::chrono::nanoseconds left) noexcept {
    return deadline_after(left);
  }
  static bool passed(deadline limit) noexcept {
    on().operate(on().with_sibling(cost().clock_read));
    return to_ps(limit) <= on().now();
  }
  static constexpr std::uint32_t slot_count = arena::stacks;
  static std::uintptr_t thread_key() noexcept { return static_cast<std::uintptr_t>(self() + 1); }
  static std::uint32_t thread_slot() noexcept { return static_cast<std::uint32_t>(self()); }
  /// A socket is a node.
  static std::uint32_t numa_node() noexcept {
    if (on().self() == nullptr) return 0;
    return static_cast<std::uint32_t>(cost().shape.socket_of(on().self()->processor));
  }

  template <class T>
  static T& thread_state() noexcept {
    engine& of = on();
    return state<T>(of.self() != nullptr ? of.self()->state : of.process_state());
  }
  template <class T>
  static T& process_state() noexcept {
    return state<T>(on().process_state());
  }
  template <class T>
  static const T& process_state_to_look_at() noexcept {
    return process_state<T>();
  }

  static std::uint64_t hash(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) * 0x9E37'79B9'7F4A'7C15U;
  }
  static constexpr std::size_t table_size = 1024;
  template <class State>
  struct at_start {
    template <class... Arguments>
    static void catch_up(Arguments... /*arguments*/) noexcept {}
  };
  static std::uint32_t random() noexcept { return adding_world::random(); }

  // Observation

  struct attempt {};
  static constexpr attempt trying{}, sharing{}, trying_to_share{};
  struct acquiring {
    explicit acquiring(const void* /*lock*/, attempt /*kind*/ = {}) noexcept {}
    static bool result(bool acquired) noexcept { return acquired; }
  };
  struct releasing {
    explicit releasing(const void* /*lock*/, attempt /*kind*/ = {}) noexcept {}
  };
  struct notifying {
    explicit notifying(const void* /*lock*/) noexcept {}
  };
  using contended = acquiring;
  static bool expect_held(const void* /*lock*/, attempt /*kind*/ = {}) noexcept { return false; }
  static bool expect_not_held(const void* /*lock*/) noexcept { return false; }

 private:
  static constexpr std::uint32_t has_waiters = 0x8000'0000U;

  static engine& on() noexcept { return engine::current(); }
  static const machine& cost() noexcept { return on().costs_of(); }
  static int self() noexcept { return on().self() != nullptr ? on().self()->id : 0; }
  static int as_count(std::uint32_t count) noexcept {
    return static_cast<int>(
        std::min<std::uint32_t>(count, std::numeric_limits<std::int32_t>::max()));
  }
  template <class T>
  static T& state(std::vector<state_entry>& objects) noexcept {
    static constexpr char type = 0;
    const auto find = [&objects] {
      return std::ranges::find(objects, static_cast<const void*>(&type), &state_entry::type);
    };
    if (const auto known = find(); known != objects.end()) return *static_cast<T*>(known->object);
    T& made = on().memory().make<T>();  // its constructor may ask for other state
    objects.push_back({&type, &made, [](void* object) { static_cast<T*>(object)->~T(); }});
    return made;
  }
};

static_assert(lockyard::world<simulated>);

}  // namespace lockyard::simulation
