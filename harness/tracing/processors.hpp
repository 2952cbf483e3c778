// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's switch records of whole processors: which thread runs where, and when a processor
// has nothing to run. They cost about half as much as records that the kernel keeps for each
// thread, but need root or kernel.perf_event_paranoid below 1.

#include "kernel_ring.hpp"
#include "switches.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockyard::harness {

/// In nanoseconds of CLOCK_MONOTONIC_RAW.
struct idle_time {
  int cpu;
  std::uint64_t begin_ns;
  std::uint64_t length_ns;
};

class processor_recorder {
 public:
  /// Opens an event on each usable processor; why_not() says what the kernel refuses.
  processor_recorder();

  void start() noexcept;
  void stop() noexcept;

  /// Returns why there are no records; empty if there are.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Returns the processors whose switches are recorded.
  [[nodiscard]] std::vector<int> processors() const;
  /// Called after stop(). Returns the times that both ends are known of.
  [[nodiscard]] std::vector<idle_time> idle_times() const;
  /// Called after stop(). Adds the switches of the threads that have a history; `ticks_of` converts
  /// CLOCK_MONOTONIC_RAW to the trace's ticks.
  void add_to(std::map<std::uint32_t, thread_history>& histories,
              const std::function<std::uint64_t(std::uint64_t)>& ticks_of) const;

 private:
  struct processor {
    int cpu;
    kernel_ring ring;
  };

  std::vector<processor> processors_;
  std::string why_not_;
};

}  // namespace lockyard::harness
