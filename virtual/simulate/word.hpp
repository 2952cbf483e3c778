// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared words and plain data of the simulated world. They have the size and alignment that they
// have natively, so that two words share a line here if they do there.

#include "engine.hpp"

#include <atomic>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <utility>

namespace lockyard::simulation {

using location = std::source_location;

template <class T>
class word {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  constexpr word() noexcept = default;
  constexpr word(T initial) noexcept : value_{initial} {}
  word(const word&) = delete;
  word& operator=(const word&) = delete;

  T load(std::memory_order /*order*/, location where = location::current()) const noexcept {
    engine::current().read(this);
    engine::current().note(this, bits_of(value_), where);
    return value_;
  }
  void store(T value, std::memory_order order, location where = location::current()) noexcept {
    engine& on = engine::current();
    on.note(this, bits_of(value), where);
    on.store(this, bits_of(value), [](void* address, std::uint64_t bits) {
      std::memcpy(static_cast<void*>(&static_cast<word*>(address)->value_), &bits, sizeof(T));
    });
    if (order == std::memory_order_seq_cst) on.drain_stores();
  }
  T exchange(T value, std::memory_order /*order*/, location where = location::current()) noexcept {
    return replace([value](T) { return value; }, where);
  }
  T fetch_add(T by, std::memory_order /*order*/, location where = location::current()) noexcept {
    return replace([by](T old) { return static_cast<T>(old + by); }, where);
  }
  T fetch_sub(T by, std::memory_order /*order*/, location where = location::current()) noexcept {
    return replace([by](T old) { return static_cast<T>(old - by); }, where);
  }
  T fetch_or(T by, std::memory_order /*order*/, location where = location::current()) noexcept {
    return replace([by](T old) { return static_cast<T>(old | by); }, where);
  }
  T fetch_and(T by, std::memory_order /*order*/, location where = location::current()) noexcept {
    return replace([by](T old) { return static_cast<T>(old & by); }, where);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order /*success*/,
                               std::memory_order /*failure*/,
                               location where = location::current()) noexcept {
    engine::current().take_exclusively(this);
    engine::current().note(this, bits_of(value_), where);
    if (bits_of(value_) != bits_of(expected)) {
      expected = value_;
      return false;
    }
    set(desired);
    return true;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure,
                             location where = location::current()) noexcept {
    return compare_exchange_strong(expected, desired, success, failure, where);
  }

  /// Returns the value as it is now, at no cost.
  [[nodiscard]] T peek() const noexcept { return value_; }
  /// Changes the value at no cost, as the kernel does inside of a call that has its own cost.
  void set(T value) noexcept {
    if (bits_of(value_) == bits_of(value)) return;
    value_ = value;
    engine::current().changed(this);
  }

 private:
  static std::uint64_t bits_of(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  template <class Next>
  T replace(Next next, location where) noexcept {
    engine::current().take_exclusively(this);
    engine::current().note(this, bits_of(value_), where);
    const T old = value_;
    set(next(old));
    return old;
  }

  T value_{};
};

/// Data that a lock protects: its line has a cost; the value itself changes at once.
template <class T>
class plain_data {
 public:
  constexpr plain_data() noexcept = default;
  constexpr plain_data(T value) noexcept : value_{std::move(value)} {}

  [[nodiscard]] const T& read() const noexcept {
    engine::current().read(this);
    return value_;
  }
  void write(T value) noexcept {
    value_ = std::move(value);
    engine::current().store(this, 0, [](void*, std::uint64_t) {});
  }

 private:
  T value_{};
};

}  // namespace lockyard::simulation
