// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's tick, at which it takes a processor from a thread that does not yield: when it
// comes, and which waits end at it.

#include "clock.hpp"
#include "histogram.hpp"

#include <nlohmann/json.hpp>

#include <limits>

namespace lockyard::harness {

/// Ticks come at multiples of their length of CLOCK_MONOTONIC, plus a phase that is the same until
/// the machine starts again. Set once per process, before any thread runs.
class timer_tick {
 public:
  /// Finds the ticks by CLOCK_MONOTONIC_COARSE, which advances at them; takes one or two ticks, and
  /// at most eight. If the machine disturbs each of them, the ticks stay unknown.
  static void find() noexcept;

  static void set(ticks length_ns, ticks phase_ns) noexcept {
    length_ns_ = length_ns;
    phase_ns_ = phase_ns;
    long_wait_ = clock::from_ns(static_cast<double>(length_ns) / 4);
  }

  [[nodiscard]] static bool is_known() noexcept { return length_ns_ != 0; }

  /// Returns the length from which on a wait can be the scheduler's, in ticks of the clock: a
  /// quarter of the kernel's tick. No wait is as long where the ticks are unknown.
  [[nodiscard]] static ticks long_wait() noexcept { return long_wait_; }

  /// Tells whether a moment of CLOCK_MONOTONIC is one at which a thread continues that got its
  /// processor by a tick.
  [[nodiscard]] static bool came_just_before(ticks moment_ns) noexcept;

 private:
  static inline ticks length_ns_ = 0;
  static inline ticks phase_ns_ = 0;
  static inline ticks long_wait_ = std::numeric_limits<ticks>::max();
};

/// One thread's waits: the lengths of all of them, and of the long ones among them that ended at a
/// tick.
class wait_lengths {
 public:
  /// Adds a wait that ended at this moment of the clock.
  void add(ticks end, ticks length) noexcept {
    all_.add(length);
    if (length >= timer_tick::long_wait()) [[unlikely]]
      look(end, length);
  }

  [[nodiscard]] const histogram& all() const noexcept { return all_; }
  [[nodiscard]] const histogram& to_tick() const noexcept { return to_tick_; }

 private:
  [[gnu::noinline, gnu::cold]] void look(ticks end, ticks length) noexcept;

  histogram all_;
  histogram to_tick_;
};

/// Adds the histograms of waits to a record; the one of ticks only where these are known.
template <class Histogram>
void report_waits(nlohmann::ordered_json& histograms, const Histogram& all,
                  const Histogram& to_tick) {
  histograms["wait"] = all.to_json(clock::ns_per_tick());
  if (timer_tick::is_known()) {
    histograms["wait_to_tick"] = to_tick.to_json(clock::ns_per_tick());
  }
}

}  // namespace lockyard::harness
