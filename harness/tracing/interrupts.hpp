// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's records of interrupts: the times in which a processor served the machine, although
// no switch says that its thread stopped. They need root.

#include "kernel_ring.hpp"

#include <lockyard/detail/trace_format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockyard::harness {

/// A record that an interrupt begins or ends. A page fault has no end.
struct interrupt_edge {
  std::uint64_t time_ns;  ///< by CLOCK_MONOTONIC_RAW
  trace::interrupt_kind kind;
  bool is_begin;
};

/// In nanoseconds of CLOCK_MONOTONIC_RAW.
struct interrupt {
  int cpu;
  std::uint64_t begin_ns;
  std::uint64_t length_ns;
  trace::interrupt_kind kind;
};

/// Returns the interrupts of a processor from its records, ordered by time. An interrupt within
/// another one is part of that one. Those whose beginning or end is unknown are left out.
inline std::vector<interrupt> interrupts_of(int cpu, const std::vector<interrupt_edge>& all) {
  std::vector<interrupt> found;
  std::size_t depth = 0;
  interrupt_edge outermost{};
  for (const interrupt_edge& each : all) {
    if (each.kind == trace::interrupt_kind::page_fault) {
      found.push_back({.cpu = cpu, .begin_ns = each.time_ns, .length_ns = 0, .kind = each.kind});
    } else if (each.is_begin) {
      if (depth++ == 0) outermost = each;
    } else if (depth > 0) {
      --depth;
      if (depth != 0) continue;
      found.push_back({.cpu = cpu,
                       .begin_ns = outermost.time_ns,
                       .length_ns = each.time_ns - outermost.time_ns,
                       .kind = outermost.kind});
    }
  }
  return found;
}

class interrupt_recorder {
 public:
  /// Opens what the kernel permits; why_not() says what it refuses.
  interrupt_recorder();

  /// Starts recording; only page faults of these threads are kept.
  void start(const std::vector<std::uint32_t>& threads);
  void stop() noexcept;

  /// Returns why there are no records; empty if there are.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Called after stop().
  [[nodiscard]] std::vector<interrupt> interrupts() const;

 private:
  struct tracepoint {
    std::uint16_t id;
    trace::interrupt_kind kind;
    bool is_begin;
  };
  struct processor {
    int cpu;
    kernel_ring ring;
    std::vector<descriptor> sharing;
  };

  void find_tracepoints();
  void open(int cpu);
  [[nodiscard]] std::optional<interrupt_edge> edge_of(const kernel_record& record) const;

  std::vector<tracepoint> tracepoints_;
  std::vector<processor> processors_;
  std::string why_not_;
};

}  // namespace lockyard::harness
