// SPDX-License-Identifier: Apache-2.0
#pragma once

// When the threads of a run were on a processor and which threads woke them, by the kernel's
// records.

#include "kernel_ring.hpp"
#include "tracepoints.hpp"

#include <lockyard/detail/trace_format.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockyard::harness {

/// The kernel's records about one thread.
struct thread_history {
  std::vector<trace::event> events;  ///< ordered by time
  std::uint64_t lost = 0;            ///< overwritten before they were read
};

/// Adds migrations: a thread that returns on another processor was moved, at that moment or before,
/// unless a record gives the exact time.
void add_migrations(std::vector<trace::event>& events);

/// Returns the switches of all threads of a trace that has ended.
std::map<std::uint32_t, thread_history> switches_of(const trace::header& of);

/// Otherwise the kernel's records number threads differently than the threads do themselves.
bool is_in_first_pid_namespace();

/// Records wake-ups and migrations by the scheduler's tracepoints, on all processors.
class wakeup_recorder {
 public:
  /// Opens what the kernel permits; why_not() says what it refuses.
  wakeup_recorder();

  /// Starts recording; only events of these threads are kept.
  void start(const std::vector<std::uint32_t>& threads);
  void stop() noexcept;

  /// Returns why there are no wake-ups; empty if there are.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Adds each thread's events; `ticks_of` converts CLOCK_MONOTONIC_RAW to the trace's ticks. A
  /// wake-up that an interrupt brought has no waker (0).
  void add_to(std::map<std::uint32_t, thread_history>& histories,
              const std::function<std::uint64_t(std::uint64_t)>& ticks_of) const;

 private:
  struct tracepoint {
    std::uint16_t id = 0;
    std::size_t pid_at = 0;      ///< the place of the thread in a record
    std::size_t current_at = 0;  ///< the place of the thread that ran
    std::size_t from_at = 0;     ///< the place of the processor that the thread leaves
    std::size_t to_at = 0;       ///< the place of the processor that it goes to
  };
  struct processor {
    std::uint32_t cpu;
    kernel_ring ring;
    descriptor migrations;  ///< writes to the same ring
  };

  static std::optional<tracepoint> find(const tracepoint_folder& folder, const std::string& name);
  void open(int cpu);

  tracepoint wakeup_;
  tracepoint migrate_;
  std::vector<processor> processors_;
  std::string why_not_;
};

}  // namespace lockyard::harness
