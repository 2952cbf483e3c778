// SPDX-License-Identifier: Apache-2.0
#pragma once

// When the threads of a run were on a processor and who woke them, by the kernel's own records.

#include "kernel_ring.hpp"

#include <lockyard/detail/trace_format.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockyard::harness {

/// What the kernel knows of one thread.
struct thread_history {
  std::vector<trace::event> events;  ///< by time
  std::uint64_t lost = 0;            ///< overwritten before they were read
};

/// A thread that comes back on another processor was moved, at that moment or before: where nothing
/// says so more exactly.
void add_migrations(std::vector<trace::event>& events);

/// The switches of all threads of a trace that has ended.
std::map<std::uint32_t, thread_history> switches_of(const trace::header& of);

/// Wake-ups and migrations by the scheduler's tracepoints, on all processors.
class wakeup_recorder {
 public:
  /// Takes what it is allowed to; why_not() tells.
  wakeup_recorder();

  /// Only what happens to these threads is of interest; from now on.
  void start(const std::vector<std::uint32_t>& threads);
  void stop() noexcept;

  /// Why there are no wake-ups; empty if there are.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Adds what happened to each thread; `ticks_of` tells a trace's from CLOCK_MONOTONIC_RAW's.
  void add_to(std::map<std::uint32_t, thread_history>& histories,
              const std::function<std::uint64_t(std::uint64_t)>& ticks_of) const;

 private:
  struct tracepoint {
    std::uint16_t id = 0;
    std::size_t pid_at = 0;   ///< where its record has the thread
    std::size_t from_at = 0;  ///< where it has the processor that the thread leaves
    std::size_t to_at = 0;    ///< and where that to which it goes
  };
  struct processor {
    kernel_ring ring;
    std::vector<descriptor> sharing;
  };

  static std::optional<tracepoint> find(const std::string& name);
  void open(int cpu);

  tracepoint waking_;
  tracepoint wakeup_;
  tracepoint migrate_;
  std::vector<processor> processors_;
  std::string why_not_;
};

}  // namespace lockyard::harness
