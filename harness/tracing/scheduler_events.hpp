// SPDX-License-Identifier: Apache-2.0
#pragma once

// From the records of the scheduler's tracepoints to what is known of each thread.

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
  std::uint32_t cpu;    ///< where it was made; of a move: that to which the thread goes
  std::uint32_t other;  ///< the waker; of a move: the processor that the thread leaves
};

/// Times are in nanoseconds yet.
struct event_of_thread {
  std::uint32_t thread;
  trace::event what;
};

/// Moves, and wake-ups by when they arrived, which sched_wakeup tells. Of one that arrives at an
/// idle processor, by an interrupt from another, the kernel may count that and record nothing
/// (Linux 6.18): such a wake-up has arrived at the earliest when it was sent, by sched_waking.
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
  std::map<std::uint32_t, scheduler_record> sent;  // by thread; their arrival is not known yet
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
