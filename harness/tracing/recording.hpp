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
  void take_part() noexcept;
  /// When all threads have.
  void start();
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
  [[nodiscard]] const std::string& why_no_wakeups() const { return wakeups_.why_not(); }
  [[nodiscard]] bool has_wakeups() const { return wakeups_.why_not().empty(); }
  [[nodiscard]] std::uint64_t stamps_made() const noexcept;
  [[nodiscard]] std::uint64_t lost_stamps() const noexcept;
  [[nodiscard]] std::uint64_t lost_switches() const noexcept;

 private:
  struct gap_seen {
    int cpu;
    trace::event what;
  };

  std::size_t bytes_;
  trace::header* head_ = nullptr;
  std::mutex guard_;
  std::vector<std::uint32_t> threads_;
  std::vector<gap_seen> gaps_;
  switch_recorder switches_;
  wakeup_recorder wakeups_;
  std::map<std::uint32_t, thread_history> histories_;
};

}  // namespace lockyard::harness
