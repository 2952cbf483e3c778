// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the threads of a run have in common, and when each was in its loop.

#include "clock.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace lockyard::harness {

/// When one thread was in its loop, and how often it held the lock there.
struct thread_span {
  ticks first = 0;
  ticks last = 0;
  std::uint64_t operations = 0;
};

inline ticks start_of(std::span<const thread_span> spans) {
  return std::ranges::min_element(spans, {}, &thread_span::first)->first;
}

inline ticks end_of(std::span<const thread_span> spans) {
  return std::ranges::max_element(spans, {}, &thread_span::last)->last;
}

inline std::uint64_t operations_of(std::span<const thread_span> spans) {
  std::uint64_t total = 0;
  for (const auto& span : spans) total += span.operations;
  return total;
}

/// Returns the part of the run in which every thread was in its loop.
inline double overlap_of(std::span<const thread_span> spans) {
  ticks last_start = 0;
  ticks first_end = std::numeric_limits<ticks>::max();
  for (const auto& span : spans) {
    last_start = std::max(last_start, span.first);
    first_end = std::min(first_end, span.last);
  }
  const ticks whole = std::max<ticks>(elapsed(start_of(spans), end_of(spans)), 1);
  return static_cast<double>(elapsed(last_start, first_end)) / static_cast<double>(whole);
}

/// Returns Jain's index of the threads' shares: 1 if all are equal, 1/n if one has everything. If
/// each thread did the same work, its share is its speed; otherwise, its amount of work.
inline double jain_index(std::span<const thread_span> spans, bool same_work) {
  double sum = 0;
  double sum_of_squares = 0;
  for (const auto& span : spans) {
    const ticks time = same_work ? std::max<ticks>(elapsed(span.first, span.last), 1) : 1;
    const double share = static_cast<double>(span.operations) / static_cast<double>(time);
    sum += share;
    sum_of_squares += share * share;
  }
  if (sum_of_squares == 0) return 1;
  return sum * sum / (static_cast<double>(spans.size()) * sum_of_squares);
}

}  // namespace lockyard::harness
