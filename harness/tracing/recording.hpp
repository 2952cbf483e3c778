// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that is kept of a traced run: the stamps of its threads, in memory until it is over, and what
// the kernel says of them.

#include "../clock.hpp"
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

/// One at a time in a process, and its threads must have ended when it does.
class recording {
 public:
  /// Stamps are kept from now on, so many of each thread, and its latest. Throws condition_error if
  /// there is no memory.
  recording(unsigned threads, std::uint32_t events, std::string_view title);
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording();

  /// By each thread, before the run.
  void take_part();
  /// When all threads have.
  void start();
  /// By each thread that is to have its switches recorded, as it begins: how often it has looked
  /// whether the others were there is no part of the run.
  static void record_switches() noexcept;
  /// When all threads have ended.
  void stop();
  /// A time that the machine took away from whoever runs on that processor.
  void add_gap(int cpu, ticks begin, ticks length);

  /// Once it was stopped. Throws std::runtime_error if the file cannot be written.
  void save(const std::string& path) const;

  [[nodiscard]] const trace::header& stamps() const noexcept { return *head_; }
  /// Of each thread, in this run's ticks.
  [[nodiscard]] const std::map<std::uint32_t, thread_history>& histories() const noexcept {
    return histories_;
  }
  [[nodiscard]] bool has_switches() const noexcept { return has_switches_; }
  [[nodiscard]] const std::string& why_no_wakeups() const { return wakeups_.why_not(); }
  [[nodiscard]] bool has_wakeups() const { return wakeups_.why_not().empty(); }
  /// Stamps, and switches between them.
  [[nodiscard]] std::uint64_t events_made() const;
  /// Of these, what later ones have overwritten.
  [[nodiscard]] std::uint64_t lost_events() const;
  [[nodiscard]] std::uint64_t lost_switches() const noexcept;

 private:
  struct gap_seen {
    int cpu;
    trace::event what;
  };

  [[nodiscard]] std::vector<const trace::ring*> thread_rings() const;

  std::size_t bytes_;
  bool has_switches_ = false;
  trace::header* head_ = nullptr;
  std::mutex guard_;
  std::vector<std::uint32_t> threads_;
  std::vector<gap_seen> gaps_;
  wakeup_recorder wakeups_;
  std::map<std::uint32_t, thread_history> histories_;
};

}  // namespace lockyard::harness
