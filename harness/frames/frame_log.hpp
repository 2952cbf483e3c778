// SPDX-License-Identifier: Apache-2.0
#pragma once

// The frames of a periodic thread: which of them missed their deadlines, and why.

#include "../clock.hpp"
#include "../histogram.hpp"
#include "../timer_tick.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockyard::harness {

/// Times in nanoseconds of CLOCK_MONOTONIC, by whose absolute times the thread is woken.
struct frame {
  ticks due;     ///< when the thread should have begun
  ticks woken;   ///< when it began
  ticks done;    ///< when the frame was complete
  ticks waited;  ///< for the lock, of the time in between
};

/// What made a frame late: without it, the frame would have met its deadline. If two of them
/// qualify, the longer one counts.
enum class frame_fault : std::uint8_t {
  lock,              ///< the waits for the lock
  wake_up,           ///< the wake-up, which came late
  lock_and_wake_up,  ///< only both together
  own_work,          ///< neither: the work took too long, or its processor was taken away
};

inline constexpr std::array<std::string_view, 4> frame_fault_keys{
    "missed_by_lock", "missed_by_wake_up", "missed_by_both", "missed_by_work"};

inline frame_fault fault_of(const frame& late, ticks deadline) noexcept {
  const ticks wake_late = elapsed(late.due, late.woken);
  const auto meets_without = [&](ticks saved) { return late.done - saved <= deadline; };
  const bool without_lock = meets_without(late.waited);
  const bool without_wake_up = meets_without(wake_late);
  if (without_lock && (!without_wake_up || late.waited >= wake_late)) return frame_fault::lock;
  if (without_wake_up) return frame_fault::wake_up;
  if (meets_without(late.waited + wake_late)) return frame_fault::lock_and_wake_up;
  return frame_fault::own_work;
}

/// The frames of a run. A frame is due at the beginning of its period and must be complete at the
/// end. A frame that is late takes the place of the frames whose periods it fills.
class frame_log {
 public:
  explicit frame_log(ticks period_ns) noexcept : period_ns_{period_ns} {}

  /// Returns the number of periods that the frame took, at least 1: the next frame is due so many
  /// periods later.
  std::uint64_t add(const frame& one) noexcept {
    const ticks took = std::max<ticks>(elapsed(one.due, one.done), 1);
    const std::uint64_t taken = (took - 1) / period_ns_ + 1;
    periods_ += taken;
    if (taken > 1) {
      missed_[static_cast<std::size_t>(fault_of(one, one.due + period_ns_))] += taken - 1;
      overrun_max_ns_ = std::max(overrun_max_ns_, took - period_ns_);
    }
    frames_.add(took);
    wake_ups_.add(elapsed(one.due, one.woken));
    wake_late_max_ns_ = std::max(wake_late_max_ns_, elapsed(one.due, one.woken));
    count_ += 1;
    const auto length = static_cast<double>(took);
    const double from_mean = length - mean_ns_;
    mean_ns_ += from_mean / count_;
    squares_ += from_mean * (length - mean_ns_);
    return taken;
  }

  /// Adds a wait for the lock that ended at this moment of the clock.
  void add_wait(ticks acquired, ticks waited) noexcept {
    waits_.add(acquired, waited);
    wait_max_ = std::max(wait_max_, waited);
  }

  [[nodiscard]] std::uint64_t periods() const noexcept { return periods_; }
  [[nodiscard]] std::uint64_t missed() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t each : missed_) all += each;
    return all;
  }

  /// Adds its values and histograms; `waits` are in ticks of the clock, all else in nanoseconds.
  void report(nlohmann::ordered_json& values, nlohmann::ordered_json& histograms) const {
    const double run_ns = static_cast<double>(periods_ * period_ns_);
    values["frames"] = periods_;
    values["missed"] = missed();
    values["missed_share"] =
        static_cast<double>(missed()) / static_cast<double>(std::max<std::uint64_t>(periods_, 1));
    values["missed_per_minute"] = static_cast<double>(missed()) * 60e9 / std::max(run_ns, 1.0);
    for (std::size_t fault = 0; fault < missed_.size(); ++fault) {
      values[std::string{frame_fault_keys[fault]}] = missed_[fault];
    }
    values["overrun_max_ns"] = overrun_max_ns_;
    values["frame_mean_ns"] = mean_ns_;
    values["jitter_ns"] = count_ > 1 ? std::sqrt(squares_ / (count_ - 1)) : 0.0;
    values["wake_late_max_ns"] = wake_late_max_ns_;
    values["wait_max_ns"] = clock::ns(wait_max_);
    histograms["frame"] = frames_.to_json(1);
    histograms["wake_late"] = wake_ups_.to_json(1);
    report_waits(histograms, waits_.all(), waits_.to_tick());
  }

 private:
  ticks period_ns_;
  std::uint64_t periods_ = 0;
  std::array<std::uint64_t, frame_fault_keys.size()> missed_{};
  ticks overrun_max_ns_ = 0;
  ticks wake_late_max_ns_ = 0;
  ticks wait_max_ = 0;
  double count_ = 0;
  double mean_ns_ = 0;
  double squares_ = 0;  ///< the sum of the squared distances from the mean
  histogram frames_;
  histogram wake_ups_;
  wait_lengths waits_;
};

}  // namespace lockyard::harness
