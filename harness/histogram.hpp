// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockyard::harness {

/// Counts of values in log-linear buckets: exact below 256, then 128 buckets per octave, so that
/// the middle of a bucket is at most 0.4 % away from any of its values. Adding takes a few
/// instructions and allocates nothing.
template <class Count>
class basic_histogram {
 public:
  static constexpr unsigned sub_bucket_bits = 7;

  void add(std::uint64_t value) noexcept {
    // Short values, for which the lookup costs most relative to the value, come first.
    if (value <= exact_mask) {
      ++counts_[value];
    } else {
      ++counts_[index_of(value)];
    }
  }

  static constexpr std::size_t index_of(std::uint64_t value) noexcept {
    const auto top_bit = static_cast<unsigned>(std::bit_width(value | exact_mask)) - 1;
    const unsigned shift = top_bit - sub_bucket_bits;
    return (std::size_t{shift} << sub_bucket_bits) + static_cast<std::size_t>(value >> shift);
  }

  /// Returns the smallest value of a bucket.
  static constexpr std::uint64_t lowest(std::size_t index) noexcept {
    if (index <= exact_mask) return index;
    const std::size_t shift = (index >> sub_bucket_bits) - 1;
    return (index - (shift << sub_bucket_bits)) << shift;
  }

  static constexpr double middle(std::size_t index) noexcept {
    return static_cast<double>(lowest(index)) / 2 + static_cast<double>(lowest(index + 1) - 1) / 2;
  }

  template <class Other>
  void merge(const basic_histogram<Other>& other) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts()[i];
  }

  [[nodiscard]] const auto& counts() const noexcept { return counts_; }

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t total = 0;
    for (const auto count : counts_) total += count;
    return total;
  }

  /// Returns the middle of the bucket that contains the median; 0 if the histogram is empty.
  [[nodiscard]] double median() const noexcept {
    const std::uint64_t total = count();
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen * 2 >= total && seen != 0) return middle(i);
    }
    return 0;
  }

  /// Returns the form in records: a bucket's value times `scale` is in nanoseconds.
  [[nodiscard]] nlohmann::ordered_json to_json(double scale) const {
    auto counts = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) counts.push_back({i, counts_[i]});
    }
    return {{"unit", "ns"},
            {"scale", scale},
            {"sub_bucket_bits", sub_bucket_bits},
            {"counts", std::move(counts)}};
  }

 private:
  static constexpr std::uint64_t exact_mask = (1U << (sub_bucket_bits + 1)) - 1;
  static constexpr std::size_t buckets = std::size_t{64 - sub_bucket_bits + 1} << sub_bucket_bits;

  std::array<Count, buckets> counts_{};
};

/// One thread's histogram: small, and wide enough for the longest run that a job may ask for.
using histogram = basic_histogram<std::uint32_t>;

/// The histogram of all threads together.
using merged_histogram = basic_histogram<std::uint64_t>;

}  // namespace lockyard::harness
