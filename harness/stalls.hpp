// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "clock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lockyard::harness {

/// One long wait: its thread, its end and its length.
struct stall {
  unsigned thread;
  ticks at;
  ticks length;
};

/// The longest stalls of one thread. A stall that is not among them costs one comparison.
class longest_stalls {
 public:
  static constexpr std::size_t kept = 8;

  void offer(unsigned thread, ticks at, ticks length) noexcept {
    if (length > stalls_.back().length) [[unlikely]] {
      keep({.thread = thread, .at = at, .length = length});
    }
  }

  void merge(const longest_stalls& other) noexcept {
    for (const auto& each : other.stalls_) offer(each.thread, each.at, each.length);
  }

  [[nodiscard]] const std::array<stall, kept>& longest_first() const noexcept { return stalls_; }

 private:
  [[gnu::noinline, gnu::cold]] void keep(stall longer) noexcept {
    stalls_.back() = longer;
    std::ranges::sort(stalls_, std::ranges::greater{}, &stall::length);
  }

  std::array<stall, kept> stalls_{};
};

}  // namespace lockyard::harness
