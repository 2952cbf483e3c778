// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks whether the cores' time-stamp counters agree well enough to be the clock of a run.

#include "gap.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockyard::harness {

/// The largest tolerable error between the stamps of two cores. The study `idle` needs it to be
/// small: it subtracts one core's stamp from another's and counts differences above its threshold.
/// With an error of half the threshold, each part that it counts really lasted longer than half the
/// threshold, and each part longer than one and a half thresholds is counted.
inline constexpr double widest_skew_ns = idle_threshold_ns / 2;

/// A busy machine stretches a round trip by the time that one of its two threads waits in a queue,
/// and a later attempt may find both cores free.
inline constexpr unsigned skew_attempts_of_pair = 32;
/// Bounds the time on machines with many cores, where all pairs may be retried.
inline constexpr unsigned skew_retries_in_all = 128;

/// The offset of a core's counter from the first core's.
struct counter_offset {
  double offset_ns;
  double uncertainty_ns;  ///< the true offset differs from offset_ns by no more

  /// Returns the largest error of a difference between stamps of the two cores.
  [[nodiscard]] double error_ns() const noexcept { return std::abs(offset_ns) + uncertainty_ns; }
  /// Tells whether zero lies outside the bounds. A read of the counter may move by its own cost.
  [[nodiscard]] bool is_apart(double read_ns) const noexcept {
    return std::abs(offset_ns) > uncertainty_ns + read_ns;
  }
  [[nodiscard]] bool is_too_wide() const noexcept { return error_ns() > widest_skew_ns; }
};

/// The result of all attempts to compare two cores.
struct compared_pair {
  std::optional<counter_offset> tightest;  ///< nullopt if no attempt was answered in time
  unsigned attempts = 0;
};

/// Repeats attempts until the answer is clear, at most `most` times, and keeps the tightest bound.
/// `attempt(n)` is the n-th measurement, from 0.
template <class Attempt>
compared_pair compare_pair(Attempt attempt, unsigned most, double read_ns) {
  compared_pair pair;
  const auto is_clear = [&] {
    return pair.tightest && (pair.tightest->is_apart(read_ns) || !pair.tightest->is_too_wide());
  };
  while (pair.attempts < most && !is_clear()) {
    const std::optional<counter_offset> found = attempt(pair.attempts++);
    if (!found) continue;
    if (!pair.tightest || found->uncertainty_ns < pair.tightest->uncertainty_ns) {
      pair.tightest = found;
    }
  }
  return pair;
}

/// Why the time-stamp counter is not the clock of a run.
enum class tsc_refusal : std::uint8_t {
  not_invariant,  ///< its rate changes, or it stops in deep sleep
  not_compared,   ///< a pair of cores did not answer
  apart,          ///< the counters of two cores differ by more than their bounds permit
  too_wide,       ///< two cores agree, but within bounds wider than `widest_skew_ns`
};

constexpr std::string_view name_of(tsc_refusal refusal) noexcept {
  switch (refusal) {
    case tsc_refusal::not_invariant: return "not_invariant";
    case tsc_refusal::not_compared: return "not_compared";
    case tsc_refusal::apart: return "apart";
    case tsc_refusal::too_wide: return "too_wide";
  }
  return "";
}

/// How far the cores' counters differ, according to round trips between the first core that this
/// process may use and each other core. Figures are of the worst pair: among the pairs that are
/// apart, or else among all, the pair with the largest error.
struct clock_skew {
  double offset_ns = 0;
  double uncertainty_ns = 0;  ///< half the shortest round trip of that pair
  unsigned pairs = 0;         ///< pairs that answered in time
  unsigned apart = 0;         ///< pairs whose offset exceeds what their round trip permits
  unsigned wide = 0;          ///< pairs not apart, but known less well than `widest_skew_ns`
  unsigned wanted = 0;        ///< all pairs
  unsigned attempts = 0;      ///< of the pair that needed most

  void count(const compared_pair& pair, double read_ns) noexcept;
};

/// Returns nullopt if the time-stamp counter may be the clock.
std::optional<tsc_refusal> refusal_of(bool is_invariant, const clock_skew& skew) noexcept;

/// Compares `pairs` pairs of cores. `attempt(pair, n)` is the n-th measurement of a pair. If one
/// pair has used up its attempts without success, the counter is refused, and no other pair is
/// retried.
template <class Attempt>
clock_skew compare_cores(unsigned pairs, Attempt attempt, double read_ns) {
  clock_skew skew;
  skew.wanted = pairs;
  unsigned retries_left = skew_retries_in_all;
  for (unsigned pair = 0; pair < pairs; ++pair) {
    const bool is_open = skew.apart == 0 && skew.wide == 0 && skew.pairs == pair;
    const unsigned retries = is_open ? std::min(retries_left, skew_attempts_of_pair - 1) : 0;
    const compared_pair found =
        compare_pair([&](unsigned n) { return attempt(pair, n); }, 1 + retries, read_ns);
    retries_left -= found.attempts - 1;
    skew.count(found, read_ns);
  }
  return skew;
}

}  // namespace lockyard::harness
