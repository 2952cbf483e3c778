// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's records of a thread's switches, in the thread's own ring between its stamps. The
// kernel writes pages that it shares with the thread; a stamp that finds new records copies them
// first. So a reader of the file has all records up to a thread's last stamp; the later records are
// added when the trace ends.
//
// A thread opens its pages with its ring, and the head of the ring holds their address. The thread
// that exchanges this address for 0 reads and releases the pages: the ring's own thread, if the
// trace has ended meanwhile; the next thread that gets the ring of an ended thread; or the thread
// that ends the trace. The last of these cannot know whether the ring's thread is about to read the
// pages, so it replaces them by zeros, and the ring's thread finds no new records. A forked child
// has neither the trace nor the pages.

#include <lockyard/detail/os/switch_records.hpp>
#include <lockyard/detail/trace_format.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/trace_state.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace lockyard::inline v0::trace::detail {

/// Room for 256 absences from the processor between two stamps; fewer if the kernel gives less.
inline constexpr std::size_t most_switch_pages = 4;

/// Up to this level of kernel.perf_event_paranoid every user may record own switches.
inline constexpr int permitted_paranoia = 2;

/// Writes why the kernel refuses its records, and what to do.
inline void say_why_no_switches(sentence& to, int error, bool memory_was_refused,
                                int level = os::perf_paranoia()) noexcept {
  if (memory_was_refused) {
    std::snprintf(to.data(), to.size(),
                  "the kernel has no memory for records of so many threads' switches (errno %d); "
                  "raise kernel.perf_event_mlock_kb or ulimit -l, or run as root",
                  error);
  } else if (error == EACCES || error == EPERM) {
    std::snprintf(to.data(), to.size(),
                  level > permitted_paranoia
                      ? "perf_event_open is not permitted (kernel.perf_event_paranoid is %d, and a "
                        "container may filter it, too); set it to 2 or lower, or run as root or "
                        "with CAP_PERFMON"
                      : "perf_event_open is not permitted, although kernel.perf_event_paranoid is "
                        "%d: a filter of the container or service, or a security module, refuses "
                        "it; allow it there",
                  level);
  } else if (error == ENOSYS) {
    std::snprintf(to.data(), to.size(),
                  "this kernel, or a container's filter, has no perf events; run it elsewhere");
  } else {
    std::snprintf(to.data(), to.size(),
                  "perf_event_open failed with errno %d, so switches are not recorded", error);
  }
}

/// Converts records to a trace's events, with times computed from a nearby moment.
struct switch_events {
  moment now;
  double ns_per_tick;

  [[nodiscard]] std::uint64_t ticks_of(std::uint64_t raw_ns) const noexcept {
    const auto ago_ns = static_cast<double>(static_cast<std::int64_t>(now.raw_ns - raw_ns));
    return now.ticks - static_cast<std::uint64_t>(static_cast<std::int64_t>(ago_ns / ns_per_tick));
  }
  [[nodiscard]] event of(const os::switch_record& from, std::uint64_t tid) const noexcept {
    return {.ticks = ticks_of(from.raw_ns),
            .lock = tid,
            .kind = from.is_out ? event_kind::switch_out : event_kind::switch_in,
            .cpu = from.cpu,
            .argument = from.could_go_on ? 1U : 0U};
  }
  [[nodiscard]] event lost(std::uint64_t count, std::uint64_t before_ns,
                           std::uint64_t tid) const noexcept {
    return {.ticks = ticks_of(before_ns),
            .lock = tid,
            .kind = event_kind::records_lost,
            .cpu = unknown_cpu,
            .argument = count};
  }
};

/// Takes the ring's pages for the caller; only one caller gets them.
inline os::switch_pages take_switch_pages(ring& of) noexcept {
  const std::atomic_ref<std::uint64_t> pages{of.pages};
  // order[take]: seq_cst; pairs [pages]; see [ended] for the cycle.
  if (pages.load(std::memory_order_seq_cst) == 0) return {};
  // order[taken]: acquire; pairs [pages]; the pages are whole.
  const std::uint64_t found = pages.exchange(0, std::memory_order_acquire);
  return os::switch_pages_at(found);
}

/// Makes the kernel record the calling thread's switches from now on, if this trace has switches.
inline void start_switches(own_ring& mine, ring& of) noexcept {
  mine.switch_head = &no_switches;
  header& whole = *mine.of;
  // relaxed(owner): readers acquire it with the ring's kind.
  std::atomic_ref{of.switches}.store(0, std::memory_order_relaxed);
  if (whole.has_switches == 0) return;
  const auto [pages, error, memory_was_refused] = os::open_switch_pages(most_switch_pages);
  if (pages.begin == nullptr) {
    // relaxed(atomicity): the first thread writes the reason.
    const auto before =
        std::atomic_ref{whole.threads_without_switches}.fetch_add(1, std::memory_order_relaxed);
    if (before == 0) say_why_no_switches(whole.why_no_switches, error, memory_was_refused);
    return;
  }
  // order[pages]: seq_cst; pairs [take, taken]; publishes them; see [ended] for the cycle.
  std::atomic_ref{of.pages}.store(reinterpret_cast<std::uintptr_t>(pages.begin),
                                  std::memory_order_seq_cst);
  // order[ended]: seq_cst; pairs [trace_rings.hpp:end]; forbids the cycle in which the thread that
  // ends the trace finds no pages yet, and this thread finds that the trace still runs.
  if (native::process_state<current_trace>().is.load(std::memory_order_seq_cst) != &whole) {
    if (const auto mine_yet = take_switch_pages(of); mine_yet.begin != nullptr) {
      os::close_switch_pages(mine_yet);
    }
    return;
  }
  mine.switches = pages;
  mine.switch_head = os::switch_head(pages);
  // relaxed(atomicity): the thread that ends the trace makes it more exact.
  mine.ns_per_tick = std::atomic_ref{whole.ns_per_tick}.load(std::memory_order_relaxed);
  mine.first = mine.nearby = moment::now(mine.uses_counter);
  // The thread runs: its earlier switches are unknown.
  // relaxed(hint): the kernel keeps it while the thread does not run.
  const std::uint32_t cpu = std::atomic_ref{*mine.cpu}.load(std::memory_order_relaxed);
  write(of, mine.last,
        {.ticks = ticks_now(mine.uses_counter, reading::settled),
         .lock = 0,
         .kind = event_kind::switch_in,
         .cpu = cpu,
         .argument = 0});
  // order[first]: release; pairs [switches]; as in [switches].
  std::atomic_ref{of.switches}.store(1, std::memory_order_release);
}

/// Reads both clocks at most once in a millisecond: within that time the initial rate of the trace
/// is wrong by ten nanoseconds. Over a longer time the rate is as exact as its two ends.
inline void look_at_clocks(own_ring& mine, std::uint64_t ticks) noexcept {
  constexpr double near_ns = 1e6;
  constexpr std::uint64_t long_ns = 5'000'000;
  if (static_cast<double>(ticks - mine.nearby.ticks) * mine.ns_per_tick < near_ns) return;
  mine.nearby = moment::now(mine.uses_counter, 2);
  if (mine.nearby.raw_ns - mine.first.raw_ns < long_ns) return;
  mine.ns_per_tick = ns_per_tick(mine.first, mine.nearby);
}

/// Copies the kernel's records since the last copy. Called by the ring's thread, while it writes,
/// at that moment.
[[gnu::noinline, gnu::cold]] inline void add_switches(own_ring& mine,
                                                      std::uint64_t ticks) noexcept {
  ring& to = *mine.to;
  look_at_clocks(mine, ticks);
  const switch_events made{mine.nearby, mine.ns_per_tick};
  mine.reader.read(
      mine.switches, [&](const os::switch_record& each) { write(to, mine.last, made.of(each, 0)); },
      [&](std::uint64_t count, std::uint64_t before_ns) {
        write(to, mine.last, made.lost(count, before_ns, 0));
        to.lost += count;
      });
  // order[added]: release; pairs [switches]; the events come before they are counted.
  std::atomic_ref{to.switches}.store(1 + mine.reader.records(), std::memory_order_release);
}

/// Adds the kernel's records of a thread since its last stamp, at most `room` events. Called by the
/// thread that ends the trace, at that moment.
inline void add_last_switches(ring& from, const switch_events& made, header& whole,
                              std::uint64_t room) noexcept {
  const os::switch_pages pages = take_switch_pages(from);
  if (pages.begin == nullptr) return;
  ring& to = *whole.ring_at(header::last_switches);
  // order[switches]: acquire; pairs [first, added]; the thread's own copies are complete. If the
  // thread is about to copy more records, the trace has them twice, with the same content.
  const std::uint64_t had = std::atomic_ref{from.switches}.load(std::memory_order_acquire);
  // relaxed(owner): one thread has this ring at a time, and it may be gone.
  const std::uint32_t tid = std::atomic_ref{from.tid}.load(std::memory_order_relaxed);
  auto reader = os::switch_reader::after(had == 0 ? 0 : had - 1);
  std::uint64_t missed = reader.skip_all_but(pages, room > 0 ? room - 1 : 0);
  const std::uint32_t last = whole.ring_events - 1;
  const auto add_lost = [&](std::uint64_t count, std::uint64_t before_ns) {
    write(to, last, made.lost(count, before_ns, tid));
  };
  to.lost += missed;
  reader.read(
      pages,
      [&](const os::switch_record& each) {
        const event next = made.of(each, tid);
        if (next.ticks > made.now.ticks) return;  // the trace had ended
        if (missed != 0) add_lost(std::exchange(missed, 0), each.raw_ns);
        write(to, last, next);
      },
      [&](std::uint64_t count, std::uint64_t before_ns) {
        to.lost += count;
        add_lost(count, before_ns);
      });
  os::blank_switch_pages(pages);
}

/// Adds the records that the threads have not copied, to a separate ring: only its own thread may
/// write to a thread's ring.
inline void add_last_switches(header& ended, const moment& last) noexcept {
  if (ended.has_switches == 0) return;
  const switch_events made{last, ended.ns_per_tick};
  const std::uint64_t room = ended.ring_events / ended.ring_count;
  for (std::uint32_t i = header::last_switches + 1; i < ended.ring_count; ++i) {
    add_last_switches(*ended.ring_at(i), made, ended, room);
  }
}

}  // namespace lockyard::inline v0::trace::detail
