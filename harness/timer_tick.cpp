// SPDX-License-Identifier: Apache-2.0
#include "timer_tick.hpp"

#include <time.h>

#include <algorithm>

namespace lockyard::harness {

namespace {

/// Readings of the fine clock that are farther apart leave the moment of a tick open: something
/// came between them.
constexpr ticks undisturbed_ns = 50'000;
constexpr unsigned most_ticks = 8;
/// A tick that ends a slice takes this long until the next thread runs and reads the clock.
constexpr ticks switched_within_ns = 150'000;
/// The moment of the tick is known this well.
constexpr ticks known_within_ns = 20'000;

ticks read_ns(clockid_t of) noexcept {
  timespec now{};
  clock_gettime(of, &now);
  return static_cast<ticks>(now.tv_sec) * 1'000'000'000U + static_cast<ticks>(now.tv_nsec);
}

}  // namespace

void timer_tick::find() noexcept {
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_sec != 0 ||
      resolution.tv_nsec <= 0) {
    return;
  }
  const auto length_ns = static_cast<ticks>(resolution.tv_nsec);
  ticks before_ns = read_ns(CLOCK_MONOTONIC);
  ticks coarse_ns = read_ns(CLOCK_MONOTONIC_COARSE);
  for (const ticks end_ns = before_ns + most_ticks * length_ns; before_ns < end_ns;) {
    const ticks coarse_now_ns = read_ns(CLOCK_MONOTONIC_COARSE);
    const ticks now_ns = read_ns(CLOCK_MONOTONIC);
    const bool has_advanced = coarse_now_ns != coarse_ns;
    if (has_advanced && now_ns - before_ns < undisturbed_ns) {
      set(length_ns, (before_ns + (now_ns - before_ns) / 2) % length_ns);
      return;
    }
    coarse_ns = coarse_now_ns;
    before_ns = now_ns;
  }
}

bool timer_tick::came_just_before(ticks moment_ns) noexcept {
  const ticks within_ns = std::min(known_within_ns + switched_within_ns, length_ns_ / 10);
  const ticks since_ns =
      (moment_ns % length_ns_ + length_ns_ - phase_ns_ + known_within_ns) % length_ns_;
  return since_ns <= within_ns;
}

void wait_lengths::look(ticks end, ticks length) noexcept {
  const auto since_ns = static_cast<ticks>(clock::ns(elapsed(end, clock::now())));
  if (timer_tick::came_just_before(read_ns(CLOCK_MONOTONIC) - since_ns)) to_tick_.add(length);
}

}  // namespace lockyard::harness
