// SPDX-License-Identifier: Apache-2.0
#pragma once

// The times in which processors had nothing to run, by the kernel's switch records of processors.

#include "kernel_ring.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lockyard::harness {

/// In nanoseconds of CLOCK_MONOTONIC_RAW.
struct idle_time {
  int cpu;
  std::uint64_t begin_ns;
  std::uint64_t length_ns;
};

class idle_recorder {
 public:
  /// Opens an event on each usable processor; why_not() says what the kernel refuses.
  idle_recorder();

  void start() noexcept;
  void stop() noexcept;

  /// Returns why there are no records; empty if there are.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Returns the processors whose idle times are recorded.
  [[nodiscard]] std::vector<int> processors() const;
  /// Called after stop(). Returns the times that both ends are known of.
  [[nodiscard]] std::vector<idle_time> found() const;

 private:
  struct processor {
    int cpu;
    kernel_ring ring;
  };

  std::vector<processor> processors_;
  std::string why_not_;
};

}  // namespace lockyard::harness
