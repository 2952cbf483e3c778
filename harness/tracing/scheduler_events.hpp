// SPDX-License-Identifier: Apache-2.0
#pragma once

// Derives each thread's events from the records of the scheduler's tracepoints.

#include <lockyard/detail/trace_format.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace lockyard::harness {

struct scheduler_record {
  enum class tracepoint : std::uint8_t { waking, wakeup, migrate_task };

  tracepoint of;
  std::uint64_t time_ns;
  std::uint32_t thread;
  std::uint32_t cpu;    ///< where it was made; for a migration, the thread's destination
  std::uint32_t other;  ///< the waker; for a migration, the processor that the thread leaves
};

/// Times are still in nanoseconds.
struct event_of_thread {
  std::uint32_t thread;
  trace::event what;
};

/// Returns migrations, and wake-ups by the time of their arrival, which sched_wakeup reports. For a
/// wake-up that arrives at an idle processor by an interrupt, the kernel may record none
/// (Linux 6.18): such a wake-up arrived no earlier than it was sent, which sched_waking reports.
inline std::vector<event_of_thread> events_of(std::vector<scheduler_record> records) {
  using enum scheduler_record::tracepoint;
  std::vector<event_of_thread> found;
  const auto add = [&found](const scheduler_record& at, trace::event_kind kind,
                            std::uint32_t other) {
    found.push_back(
        {.thread = at.thread,
         .what = {.ticks = at.time_ns, .lock = 0, .kind = kind, .cpu = at.cpu, .argument = other}});
  };
  std::ranges::stable_sort(records, {}, &scheduler_record::time_ns);
  std::map<std::uint32_t, scheduler_record> sent;  // by thread, while their arrival is unknown
  for (const scheduler_record& each : records) {
    if (each.of == migrate_task) {
      add(each, trace::event_kind::migrated, each.other);
      continue;
    }
    const auto before = sent.extract(each.thread);
    if (each.of == wakeup) {
      add(each, trace::event_kind::woken, before ? before.mapped().other : 0);
      continue;
    }
    if (before) add(before.mapped(), trace::event_kind::woken, before.mapped().other);
    sent.insert({each.thread, each});
  }
  for (const auto& [thread, each] : sent) add(each, trace::event_kind::woken, each.other);
  return found;
}

}  // namespace lockyard::harness
