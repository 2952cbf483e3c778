// SPDX-License-Identifier: Apache-2.0
#pragma once

// A candidate execution of a straight-line program: its events, what each read takes, the
// modification orders, and the relations of C++20 [intro.races] between the events.

#include "oracle.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockyard::oracle {

inline constexpr std::size_t most_events = 24;

/// A relation between events: a row of bits for each.
struct relation {
  std::array<std::uint32_t, most_events> of{};

  void add(std::size_t from, std::size_t to) { of[from] |= 1U << to; }
  [[nodiscard]] bool has(std::size_t from, std::size_t to) const {
    return (of[from] >> to & 1U) != 0;
  }
  void close(std::size_t count) {
    for (std::size_t via = 0; via < count; ++via) {
      for (std::size_t from = 0; from < count; ++from) {
        if (has(from, via)) of[from] |= of[via];
      }
    }
  }
  [[nodiscard]] bool is_cyclic(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (has(i, i)) return true;
    }
    return false;
  }
};

/// Relates a to c where `first` relates a to some b, and `second` b to c.
inline relation compose(const relation& first, const relation& second, std::size_t count) {
  relation all;
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t via = 0; via < count; ++via) {
      if (first.has(from, via)) all.of[from] |= second.of[via];
    }
  }
  return all;
}

inline constexpr int initial = -1;

struct event {
  std::size_t thread;
  std::size_t slot;  ///< the place of its instruction among all
  const instruction* does;
  bool reads = false;
  bool writes = false;
  bool is_plain = false;
  bool is_fence = false;
  std::memory_order order = std::memory_order::relaxed;
  int from = initial;     ///< the write that it reads
  std::size_t place = 0;  ///< among the accesses of its word, see find_places

  [[nodiscard]] bool is_sequential() const { return order == std::memory_order::seq_cst; }
};

struct candidate {
  std::vector<event> events;
  relation sequenced;
  relation synchronizes;
  relation happens;

  [[nodiscard]] bool is_access(std::size_t which) const {
    return !events[which].is_plain && !events[which].is_fence;
  }
  [[nodiscard]] bool is_coherence_ordered(std::size_t a, std::size_t b) const {
    return a != b && is_access(a) && is_access(b) &&
           events[a].does->where == events[b].does->where && events[a].place < events[b].place;
  }
  /// a, or something that a fence a happens before, is coherence-ordered before b, or before
  /// something that happens before a fence b.
  [[nodiscard]] bool is_ordered_by_coherence(std::size_t a, std::size_t b) const;

  /// Derives what synchronizes and what happens before; false if that has a cycle.
  bool find_happens_before();
  /// [atomics.order] 3 and 4.
  [[nodiscard]] bool has_total_order() const;
  /// Whether light and heavy fences can be ordered among themselves (decision 0036).
  [[nodiscard]] bool has_order_of_asymmetric_fences() const;

 private:
  void synchronize(std::size_t write, std::size_t read);
};

}  // namespace lockyard::oracle
