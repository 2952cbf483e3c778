// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that is kept of a traced run: the stamps of its threads, in memory until the run is
// over, and the kernel's records about them.

#include "../clock.hpp"
#include "interrupts.hpp"
#include "processors.hpp"
#include "switches.hpp"

#include <lockyard/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockyard::harness {

/// One at a time in a process; its threads must have ended before it does.
class recording {
 public:
  /// Keeps stamps from now on, this many of each thread, the latest ones. Throws condition_error if
  /// there is no memory.
  recording(unsigned threads, std::uint32_t events, std::string_view title);
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording();

  /// Called by each thread before the run.
  void take_part();
  /// Called when all threads have.
  void start();
  /// Called by each thread whose switches are to be recorded, as it begins: its switches while it
  /// waited for the others are not part of the run.
  static void record_switches() noexcept;
  /// Called when all threads have ended.
  void stop();
  /// Adds a time that the machine took away from the thread on that processor.
  void add_gap(int cpu, ticks begin, ticks length);

  /// Called after stop(). Throws std::runtime_error if the file cannot be written.
  void save(const std::string& path) const;

  [[nodiscard]] const trace::header& stamps() const noexcept { return *head_; }
  /// Returns each thread's history, in this run's ticks.
  [[nodiscard]] const std::map<std::uint32_t, thread_history>& histories() const noexcept {
    return histories_;
  }
  [[nodiscard]] bool has_switches() const noexcept { return has_switches_ || is_by_processor(); }
  [[nodiscard]] const std::string& why_no_wakeups() const { return wakeups_.why_not(); }
  [[nodiscard]] bool has_wakeups() const { return wakeups_.why_not().empty(); }
  /// Returns the number of stamps and switches.
  [[nodiscard]] std::uint64_t events_made() const;
  /// Returns how many of them later ones have overwritten.
  [[nodiscard]] std::uint64_t lost_events() const;
  [[nodiscard]] std::uint64_t lost_switches() const noexcept;

 private:
  struct gap_seen {
    int cpu;
    trace::event what;
  };

  static gap_seen seen_on(int cpu, trace::event_kind kind, ticks begin, ticks length) noexcept;
  [[nodiscard]] std::vector<const trace::ring*> thread_rings() const;
  /// Tells whether switches come from the records of processors: then threads open none.
  [[nodiscard]] bool is_by_processor() const noexcept { return processors_.why_not().empty(); }

  std::size_t bytes_;
  bool has_switches_ = false;  ///< the kernel permits records of threads
  trace::header* head_ = nullptr;
  std::mutex guard_;
  std::vector<std::uint32_t> threads_;
  std::vector<gap_seen> gaps_;
  wakeup_recorder wakeups_;
  processor_recorder processors_;
  interrupt_recorder interrupts_;
  std::vector<gap_seen> idle_times_;
  std::map<std::uint32_t, thread_history> histories_;
};

}  // namespace lockyard::harness
