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
#include <optional>
#include <string>
#include <vector>

namespace lockyard::harness {

/// In nanoseconds of CLOCK_MONOTONIC_RAW.
struct idle_time {
  int cpu;
  std::uint64_t begin_ns;
  std::uint64_t length_ns;
};

/// A thread's switch on a processor.
struct processor_switch {
  std::uint64_t time_ns;
  std::uint32_t tid;
  std::uint32_t other;
  bool is_out;
  bool could_go_on;
};

/// The records of a processor that were not overwritten.
struct switches_read {
  std::vector<processor_switch> all;  ///< ordered by time
  std::uint64_t lost_bytes = 0;       ///< overwritten, before the first
};

/// Returns the times in which a processor had no thread to run, as far as both ends are known.
inline std::vector<idle_time> idle_times_of(int cpu, const std::vector<processor_switch>& all) {
  constexpr std::uint32_t idle_thread = 0;
  std::vector<idle_time> found;
  std::optional<std::uint64_t> since_ns;
  for (const processor_switch& each : all) {
    if (each.other != idle_thread) continue;
    if (!each.is_out && since_ns) {
      found.push_back({.cpu = cpu, .begin_ns = *since_ns, .length_ns = each.time_ns - *since_ns});
    }
    since_ns = each.is_out ? std::optional{each.time_ns} : std::nullopt;
  }
  return found;
}

/// Adds a processor's switches to the threads that have a history. `lost` of its records were
/// overwritten, so what came before its first one is unknown for all of them.
inline void add_switches(std::map<std::uint32_t, thread_history>& histories, int cpu,
                         const std::vector<processor_switch>& all, std::uint64_t lost,
                         const std::function<std::uint64_t(std::uint64_t)>& ticks_of) {
  if (lost > 0 && !all.empty()) {
    for (auto& [tid, history] : histories) {
      history.lost += lost;
      history.events.push_back({.ticks = ticks_of(all.front().time_ns),
                                .lock = 0,
                                .kind = trace::event_kind::records_lost,
                                .cpu = trace::unknown_cpu,
                                .argument = lost});
    }
  }
  for (const processor_switch& each : all) {
    const auto of = histories.find(each.tid);
    if (of == histories.end()) continue;
    of->second.events.push_back(
        {.ticks = ticks_of(each.time_ns),
         .lock = 0,
         .kind = each.is_out ? trace::event_kind::switch_out : trace::event_kind::switch_in,
         .cpu = static_cast<std::uint32_t>(cpu),
         .argument = each.is_out && each.could_go_on ? 1U : 0U});
  }
}

class processor_recorder {
 public:
  /// Opens an event on each usable processor; why_not() says what the kernel refuses.
  processor_recorder();

  void start() noexcept;
  /// Ends the recording, and reads the records.
  void stop();

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
    switches_read read{};
  };

  std::vector<processor> processors_;
  std::string why_not_;
};

}  // namespace lockyard::harness
