// SPDX-License-Identifier: Apache-2.0
#pragma once

// A world in which a test says what time it is, and when a waiter looks for reasons to leave.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "support/callback_world.hpp"
#include "support/worlds.hpp"

namespace lockyard::testing {

/// Threads other than actors look whenever they can, which takes no time here. Steps may be
/// hooked.
struct directed_world : derived_world<directed_world, native> {
  template <class T>
  using atomic = callback_atomic<T>;

  struct actor_state {
    std::atomic<int> allowed{0};  ///< looks that it may still make
    std::atomic<int> come{0};     ///< how often it has come to wait for the next one
  };
  static inline thread_local actor_state* self = nullptr;
  static inline thread_local bool has_slot = true;
  static inline std::atomic<std::int64_t> now_ns{1};

  static time_point now() noexcept { return time_point{std::chrono::nanoseconds{now_ns.load()}}; }
  static deadline deadline_after(std::chrono::nanoseconds duration) noexcept {
    return duration < deadline::max() - now() ? now() + duration : deadline::max();
  }
  static bool passed(deadline limit) noexcept { return now() >= limit; }

  template <class Atomic, class Predicate, class Policy>
  static auto await(const Atomic& word, Predicate predicate, std::memory_order order,
                    Policy&& policy) noexcept {
    return derived_world<directed_world, native>::await(word, predicate, order, policy);
  }
  static std::uint32_t thread_slot() noexcept { return has_slot ? native::thread_slot() : no_slot; }

  /// A slice of a wait. A thread that only wants to barge, and backs off meanwhile, looks once.
  template <class Atomic, class Predicate, class Policy, class Deadline>
  static std::optional<typename Atomic::value_type> await(const Atomic& word, Predicate predicate,
                                                          std::memory_order order,
                                                          Policy&& /*policy*/,
                                                          Deadline /*limit*/) noexcept {
    constexpr bool overtakes =
        std::is_same_v<std::remove_cvref_t<Policy>, wait_policies::backing_off<32, 512>>;
    if (self != nullptr && !overtakes) ++self->come;
    for (;;) {
      const auto value = word.load(order);
      if (predicate(value)) return value;
      if (self == nullptr || overtakes) break;
      if (self->allowed > 0) {
        --self->allowed;
        break;
      }
      yield();
    }
    yield();
    return std::nullopt;
  }
  using native::wait;
  /// Sleeps end at once for no reason.
  static wait_result wait(const atomic<std::uint32_t>& /*word*/, std::uint32_t /*expected*/,
                          deadline /*limit*/) noexcept {
    return wait_result::woken;
  }
};
static_assert(world<directed_world>);

/// A thread of that world, which looks only when it is told to.
class actor {
 public:
  template <class Body>
  explicit actor(Body body)
      : thread_{[this, body] {
          directed_world::self = &state_;
          body();
          is_over_ = true;
        }} {}
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  ~actor() { join(); }

  /// How often it has come to wait for its next look.
  [[nodiscard]] int come() const { return state_.come; }
  /// Returns when it has come to wait so often, or is over.
  void arrive(int count = 1) const {
    while (state_.come < count && !is_over_) std::this_thread::yield();
  }
  /// Lets it look once, and returns when it has, and waits again or is over.
  void look() {
    const int next = state_.come + 1;
    let_look();
    arrive(next);
  }
  /// The same, and does not wait for that.
  void let_look() { ++state_.allowed; }
  /// The same; so much later than before.
  void look_after(std::chrono::nanoseconds time) {
    directed_world::now_ns += time.count();
    look();
  }
  [[nodiscard]] bool is_over() const { return is_over_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  directed_world::actor_state state_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace lockyard::testing
