// SPDX-License-Identifier: Apache-2.0
#pragma once

// The clock of a run: the time-stamp counter if it can be trusted, CLOCK_MONOTONIC_RAW otherwise.
// No wall clock is used.

#include <lockyard/detail/arch.hpp>

#include <time.h>

#include <cstdint>
#include <string_view>

namespace lockyard::harness {

using ticks = std::uint64_t;

enum class clock_source : std::uint8_t { tsc, monotonic_raw };

/// Returns the time from one moment to a later one. Counters of two cores may differ by some ticks,
/// so that a hand-off seems to end before it began; such a time counts as 0.
constexpr ticks elapsed(ticks from, ticks to) noexcept {
  return to > from ? to - from : 0;
}

inline ticks monotonic_raw_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<ticks>(now.tv_sec) * 1'000'000'000U + static_cast<ticks>(now.tv_nsec);
}

/// Set once per process, before any thread runs.
class clock {
 public:
  static ticks now() noexcept {
    return source_ == clock_source::tsc ? detail::arch::cycle_counter() : monotonic_raw_ns();
  }

  /// Reads the clock for the beginning of an interval: it does not wait for the thread's earlier
  /// instructions, so that the bookkeeping of the last interval costs less; instructions still in
  /// progress count towards the interval.
  static ticks now_early() noexcept {
    return source_ == clock_source::tsc ? detail::arch::cycle_counter_early() : monotonic_raw_ns();
  }

  /// Sets the source and its rate, which calibrate() found.
  static void use(clock_source source, double ns_per_tick) noexcept {
    source_ = source;
    ns_per_tick_ = ns_per_tick;
  }

  /// Sets the source and measures its rate against CLOCK_MONOTONIC_RAW; takes 10 ms.
  static void calibrate(clock_source source) noexcept;

  /// Measures the present cost of both kinds of reads; takes about a millisecond.
  static void measure_reads() noexcept;

  static double ns(ticks span) noexcept { return static_cast<double>(span) * ns_per_tick_; }
  static ticks from_ns(double span_ns) noexcept {
    return static_cast<ticks>(span_ns / ns_per_tick_);
  }
  static double ns_per_tick() noexcept { return ns_per_tick_; }
  static double read_ns() noexcept { return read_ns_; }
  static double early_read_ns() noexcept { return early_read_ns_; }
  static clock_source source() noexcept { return source_; }

 private:
  static inline clock_source source_ = clock_source::monotonic_raw;
  static inline double ns_per_tick_ = 1.0;
  static inline double read_ns_ = 0.0;
  static inline double early_read_ns_ = 0.0;
};

/// Keeps the processor until the time is over; a thread that loses its processor meanwhile does not
/// make up for it.
inline void wait_busily(double length_ns) noexcept {
  const ticks end = clock::now() + clock::from_ns(length_ns);
  while (clock::now() < end) detail::arch::pause();
}

constexpr std::string_view name_of(clock_source source) noexcept {
  return source == clock_source::tsc ? "tsc" : "monotonic_raw";
}

struct clock_skew;

/// Measures the skew of the current source. A pair takes about 3 ms if its cores are free, and
/// otherwise at most about 10 ms for each attempt, plus the time until its threads run. Starts
/// threads.
clock_skew measure_skew();

}  // namespace lockyard::harness
