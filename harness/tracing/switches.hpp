// SPDX-License-Identifier: Apache-2.0
#pragma once

// When the threads of a run were on a processor and who woke them, by the kernel's own records.

#include "kernel_ring.hpp"

#include <lockyard/detail/trace_format.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lockyard::harness {

/// What the kernel knows of one thread. Times are of CLOCK_MONOTONIC_RAW, in nanoseconds.
struct thread_history {
  std::vector<trace::event> events;  ///< by time
  std::uint64_t lost = 0;            ///< overwritten before they were read
};

/// A thread that comes back on another processor was moved, at that moment or before: where nothing
/// says so more exactly.
void add_migrations(std::vector<trace::event>& events);

/// Context switches of the threads that ask for it; works without privileges.
class switch_recorder {
 public:
  /// For so many threads.
  explicit switch_recorder(unsigned threads);

  /// By each thread, before the run. What goes wrong is kept for why_not().
  void record_calling_thread() noexcept;
  /// Why there are no switches; empty if there are.
  [[nodiscard]] std::string why_not() const;
  /// When all threads have ended, or do nothing that matters any more; by thread.
  [[nodiscard]] std::map<std::uint32_t, thread_history> histories() const;

 private:
  std::size_t bytes_each_;
  mutable std::mutex guard_;
  std::map<std::uint32_t, kernel_ring> rings_;
  std::string why_not_;
};

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
  /// Adds what happened to each thread.
  void add_to(std::map<std::uint32_t, thread_history>& histories) const;

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
