// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one clock of a run: the time-stamp counter where it can be trusted, CLOCK_MONOTONIC_RAW
// elsewhere. Nothing is timed with a wall clock.

#include <lockyard/detail/arch.hpp>

#include <time.h>

#include <cstdint>
#include <string_view>

namespace lockyard::harness {

using ticks = std::uint64_t;

enum class clock_source : std::uint8_t { tsc, monotonic_raw };

/// From one moment to a later one. Counters of two cores may be some ticks apart: then a hand-off
/// can seem to end before it began, and took no time that this clock can tell.
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

  /// For the beginning of an interval: does not wait for what the thread did before, so that
  /// keeping the books of the last interval costs less; what was still under way counts as waited
  /// for.
  static ticks now_early() noexcept {
    return source_ == clock_source::tsc ? detail::arch::cycle_counter_early() : monotonic_raw_ns();
  }

  /// Chooses the source and sets its rate, which calibrate() found.
  static void use(clock_source source, double ns_per_tick) noexcept {
    source_ = source;
    ns_per_tick_ = ns_per_tick;
  }

  /// Chooses the source, and measures its rate against CLOCK_MONOTONIC_RAW; takes 10 ms.
  static void calibrate(clock_source source) noexcept;

  /// Measures what a read of either kind costs at this moment; takes about a millisecond.
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

/// Keeps the processor until so much time is over; a thread that loses it meanwhile does not make
/// up for it.
inline void wait_busily(double length_ns) noexcept {
  const ticks end = clock::now() + clock::from_ns(length_ns);
  while (clock::now() < end) detail::arch::pause();
}

constexpr std::string_view name_of(clock_source source) noexcept {
  return source == clock_source::tsc ? "tsc" : "monotonic_raw";
}

struct clock_skew;

/// Measures the skew of the current source. A pair takes about 3 ms where its cores are free, and
/// where they are not at most about 10 ms for each attempt and the time until its threads run.
/// Starts threads.
clock_skew measure_skew();

}  // namespace lockyard::harness
