// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../clock.hpp"
#include "../histogram.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace lockyard::harness {

/// Times from one thread's stamp to another thread's, in ticks. They may be negative: the second
/// thread may stamp first, or the clocks may differ.
class latencies {
 public:
  void add(ticks from, ticks to) noexcept {
    const auto latency = static_cast<std::int64_t>(to - from);
    if (latency < 0) {
      negative_.add(static_cast<std::uint64_t>(-latency));
      ++negatives_;
    } else {
      positive_.add(static_cast<std::uint64_t>(latency));
    }
    least_ = std::min(least_, latency);
    most_ = std::max(most_, latency);
    ++count_;  // mean and squares by Welford's way
    const double step = static_cast<double>(latency) - mean_;
    mean_ += step / static_cast<double>(count_);
    squares_ += step * (static_cast<double>(latency) - mean_);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t negatives() const noexcept { return negatives_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  [[nodiscard]] double deviation() const noexcept {
    return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
  }
  [[nodiscard]] std::int64_t least() const noexcept { return least_; }
  [[nodiscard]] std::int64_t most() const noexcept { return most_; }

  /// Returns the middle of the bucket that contains the median.
  [[nodiscard]] double median() const noexcept {
    std::uint64_t seen = 0;
    for (std::size_t i = negative_.counts().size(); i-- > 0;) {
      seen += negative_.counts()[i];
      if (seen * 2 >= count_ && seen != 0) return -merged_histogram::middle(i);
    }
    for (std::size_t i = 0; i < positive_.counts().size(); ++i) {
      seen += positive_.counts()[i];
      if (seen * 2 >= count_ && seen != 0) return merged_histogram::middle(i);
    }
    return 0;
  }

  /// Returns the histogram of those that are not negative.
  [[nodiscard]] const merged_histogram& histogram() const noexcept { return positive_; }

  /// Adds `<name>_mean_ns` and so on; null if there are no values.
  void report(nlohmann::ordered_json& values, const std::string& name) const {
    const auto put = [&](const char* what, double span) {
      auto& value = values[name + what];
      value = nullptr;
      if (count_ != 0) value = span * clock::ns_per_tick();
    };
    put("_mean_ns", mean());
    put("_median_ns", median());
    put("_min_ns", static_cast<double>(least_));
    put("_max_ns", static_cast<double>(most_));
    put("_deviation_ns", deviation());
    values[name + "_negatives"] = negatives_;
  }

 private:
  merged_histogram positive_;
  merged_histogram negative_;
  std::uint64_t count_ = 0;
  std::uint64_t negatives_ = 0;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_ = std::numeric_limits<std::int64_t>::min();
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace lockyard::harness
