// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// An estimate, learned from the lengths of recent waits, of whether a spin before a sleep pays. A
/// spin lasts as long as a sleep and a wake-up take, so it pays if more than half of the waits are
/// shorter than that.
template <world W>
class adaptive_spin {
 public:
  /// A wait of this length, with the sleep and the wake-up, would have ended within about one spin.
  static constexpr std::chrono::microseconds brief{20};

  [[nodiscard]] bool is_worthwhile() const noexcept {
    // relaxed(hint): it only decides how to wait.
    return long_share_.load(std::memory_order_relaxed) < all / 2;
  }

  // The outcome of a wait: a spin was enough, or a spin failed, or the thread has slept.

  void record_successful_spin() noexcept { learn(false); }
  void record_failed_spin() noexcept { learn(true); }
  /// Records the length of a wait without a spin, not counting the wake-up.
  void record_wait_without_spin(std::chrono::nanoseconds length) noexcept { learn(length > brief); }
  [[nodiscard]] static typename W::deadline brief_from_now() noexcept {
    return W::deadline_after(brief);
  }
  void record_sleep(typename W::deadline brief_until, bool after_spin) noexcept {
    learn(after_spin || W::passed(brief_until));
  }

 private:
  void learn(bool was_long) noexcept {
    // relaxed(hint): a lost lesson is repeated.
    const std::int32_t known = long_share_.load(std::memory_order_relaxed);
    const std::int32_t learned = known + ((was_long ? all : 0) - known) / weight;
    // relaxed(hint): as above; not written if unchanged, because other threads read the word.
    if (learned != known) long_share_.store(learned, std::memory_order_relaxed);
  }

  static constexpr std::int32_t all = 256, weight = 8;

  atomic<W, std::int32_t> long_share_{0};
};

/// The same interface for locks that do not spin.
struct no_spin {
  struct nothing {};

  static constexpr bool is_worthwhile() noexcept { return false; }
  static constexpr void record_successful_spin() noexcept {}
  static constexpr nothing brief_from_now() noexcept { return {}; }
  static constexpr void record_sleep(nothing /*brief_until*/, bool /*after_spin*/) noexcept {}
};

}  // namespace lockyard::inline v0::detail
