// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real machine, with a hook of a thread's own before each step that it makes: an atomic
// operation, which is also where a signal may come.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "support/worlds.hpp"

namespace lockyard::testing {

enum class step_kind : std::uint8_t {
  load,
  store,
  exchange,
  compare_exchange,
  fetch_add,
  fetch_sub,
  fetch_or,
  fetch_and,
};

/// One step: what it does, and to how many bytes. Words of locks and nodes have four, entries of
/// tables eight.
struct step {
  step_kind kind;
  std::size_t bytes;
};

using step_hook = std::function<void(step)>;
inline thread_local const step_hook* before_step = nullptr;

template <class T>
struct callback_atomic : std::atomic<T> {
  using base = std::atomic<T>;
  using base::base;

  T load(std::memory_order order) const noexcept {
    tell(step_kind::load);
    return base::load(order);
  }
  void store(T value, std::memory_order order) noexcept {
    tell(step_kind::store);
    base::store(value, order);
  }
  T exchange(T value, std::memory_order order) noexcept {
    tell(step_kind::exchange);
    return base::exchange(value, order);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    tell(step_kind::compare_exchange);
    return base::compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    tell(step_kind::compare_exchange);
    return base::compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T value, std::memory_order order) noexcept {
    tell(step_kind::fetch_add);
    return base::fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order) noexcept {
    tell(step_kind::fetch_sub);
    return base::fetch_sub(value, order);
  }
  T fetch_or(T value, std::memory_order order) noexcept {
    tell(step_kind::fetch_or);
    return base::fetch_or(value, order);
  }
  T fetch_and(T value, std::memory_order order) noexcept {
    tell(step_kind::fetch_and);
    return base::fetch_and(value, order);
  }

 private:
  static void tell(step_kind kind) noexcept {
    if (before_step == nullptr) return;
    const step_hook* const now = std::exchange(before_step, nullptr);  // its own steps are not told
    (*now)({kind, sizeof(T)});
    before_step = now;
  }
};
struct callback_world : derived_world<callback_world, native> {
  template <class T>
  using atomic = callback_atomic<T>;
};
static_assert(world<callback_world>);

/// Hooks the calling thread's steps to the end of the scope.
class hooking {
 public:
  explicit hooking(step_hook hook) : hook_{std::move(hook)} { before_step = &hook_; }
  hooking(const hooking&) = delete;
  hooking& operator=(const hooking&) = delete;
  ~hooking() { before_step = nullptr; }

 private:
  step_hook hook_;
};

/// Where a thread stops, once, until the test lets it go on.
class gate {
 public:
  void stop() {
    is_reached_ = true;
    while (!is_open_) std::this_thread::yield();
  }
  void await() const {
    while (!is_reached_) std::this_thread::yield();
  }
  void open() { is_open_ = true; }

  /// A hook that stops before the n-th such step; of those that come when it is armed.
  step_hook before(step_kind kind, std::size_t bytes, int nth = 1) {
    return [this, kind, bytes, left = nth](step each) mutable {
      if (is_armed_ && each.kind == kind && each.bytes == bytes && --left == 0) stop();
    };
  }
  void disarm() { is_armed_ = false; }
  void arm() { is_armed_ = true; }

 private:
  std::atomic<bool> is_reached_{false};
  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_armed_{true};
};

}  // namespace lockyard::testing
