// SPDX-License-Identifier: Apache-2.0
#pragma once

// What single operations of the machine cost. docs/studies/costs.md defines each.

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

/// Timings of one operation, so many in a row for each timing.
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

/// What one thread does, while the process has no other. Pins the calling thread to `cpu`.
std::vector<cost> costs_alone(const job& of, int cpu, double share_ns);

/// How many operations costs_alone() times, for dividing the run's time.
inline constexpr unsigned alone_count = 14;

/// What two threads do to each other on one core.
std::vector<cost> costs_on_one_core(const job& of, int cpu, double share_ns);

/// Waking a thread that sleeps on another core, until it runs.
cost wake_up_on_other_core(const job& of, int cpu, int other, double share_ns);

/// A membarrier while the process keeps every processor busy.
cost membarrier_among_siblings(const job& of, const std::vector<int>& cpus, double share_ns);

/// The way of a cache line to another core and back.
cost line_round_trip(const job& of, int cpu, int other, double share_ns);

}  // namespace lockyard::harness
