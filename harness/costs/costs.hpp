// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cost of single operations of the machine. docs/studies/costs.md defines each.

#include "../clock.hpp"
#include "../histogram.hpp"
#include "../job.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockyard::harness {

/// Timings of one operation; each timing covers several operations in a row.
class cost {
 public:
  cost(std::string_view name, unsigned in_a_row) : name_{name}, in_a_row_{in_a_row} {}

  void add(ticks timing) noexcept { timings_->add(timing); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] unsigned in_a_row() const noexcept { return in_a_row_; }
  [[nodiscard]] std::uint64_t timings() const noexcept { return timings_->count(); }
  [[nodiscard]] double scale() const noexcept { return clock::ns_per_tick() / in_a_row_; }
  [[nodiscard]] double median_ns() const noexcept { return timings_->median() * scale(); }
  [[nodiscard]] const merged_histogram& histogram() const noexcept { return *timings_; }

 private:
  std::string name_;
  unsigned in_a_row_;
  std::unique_ptr<merged_histogram> timings_ = std::make_unique<merged_histogram>();
};

/// Times an operation until its share of the run is over; the first timing only warms up.
template <class Operation>
cost time_operation(std::string_view name, unsigned in_a_row, double share_ns,
                    Operation operation) {
  cost of{name, in_a_row};
  const auto time_once = [&] {
    const ticks before = clock::now();
    for (unsigned i = 0; i < in_a_row; ++i) operation();
    return clock::now() - before;
  };
  time_once();
  const ticks end = clock::now() + clock::from_ns(share_ns);
  do {
    of.add(time_once());
  } while (clock::now() < end);
  return of;
}

/// Measures operations of one thread while the process has no other. Pins the caller to `cpu`.
std::vector<cost> costs_alone(const job& of, int cpu, double share_ns);

/// The number of operations that costs_alone() times, for dividing the run's time.
inline constexpr unsigned alone_count = 14;

/// Measures the operations of two threads on one core.
std::vector<cost> costs_on_one_core(const job& of, int cpu, double share_ns);

/// Measures a wake-up: from the call until a thread that slept on another core runs.
cost wake_up_on_other_core(const job& of, int cpu, int other, double share_ns);

/// Measures a membarrier while the process keeps every processor busy.
cost membarrier_among_siblings(const job& of, const std::vector<int>& cpus, double share_ns);

/// Measures the round trip of a cache line to another core and back.
cost line_round_trip(const job& of, int cpu, int other, double share_ns);

}  // namespace lockyard::harness
