// SPDX-License-Identifier: Apache-2.0
#pragma once

// The report of a resilient lock about an acquisition that failed, and the report's handler.

#include <lockyard/detail/os/cancellation.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <source_location>
#include <span>
#include <string_view>

namespace lockyard::inline v0 {

enum class lock_event : std::uint8_t {
  deadlock,
  stalled,  ///< the stall time-out has passed; a caller's own time-out is not reported
  owner_dead,
  nested_busy,
  not_held,        ///< unlock by a thread that does not hold the lock; nothing was done
  table_overflow,  ///< the thread holds more locks than its table has room for; reported once
  no_table,        ///< there are more threads than tables; reported once
};

/// A lock: its address, and its name, or null if it has none.
struct lock_label {
  const void* address = nullptr;
  const char* name = nullptr;
};

/// A thread, the lock that it wants, and the place where it calls lock(), or unlock() for
/// `not_held`. A place whose line is 0 is unknown.
struct lock_wait {
  std::uint32_t thread = 0;  ///< the thread's id in the kernel
  lock_label wanted;
  std::source_location at;
};

/// Valid while the handler runs. In `cycle` each thread waits for a lock that the next thread
/// holds, and the last thread for a lock that the first thread holds. The first thread is the
/// reporting thread. `cycle` is empty unless it has several threads. `held` lists the locks that
/// the reporting thread holds, the oldest first.
struct lock_report {
  lock_event what;
  lock_wait wait;
  std::span<const lock_label> held;
  std::span<const lock_wait> cycle;
  /// For `not_held`: the kernel's id of the thread that holds the lock; 0 if no owner is visible.
  std::uint32_t owner = 0;
};

/// Called by the thread whose acquisition failed, after the thread has left the lock's queue and
/// before lock() returns. The handler may use locks, resilient locks too: failures in the same
/// thread meanwhile are not reported. The caller swallows any exception of the handler.
using lock_report_handler = void (*)(const lock_report&);

inline constexpr std::string_view text_of(lock_event what) noexcept {
  switch (what) {
    case lock_event::deadlock: return "waiting for it would be a deadlock";
    case lock_event::stalled: return "was not released before the stall time-out";
    case lock_event::owner_dead: return "is held by a thread that has ended";
    case lock_event::nested_busy: return "too many nested signal handlers wait";
    case lock_event::not_held:
      return "is unlocked by a thread that does not hold it, which is ignored: unlock it where "
             "it was locked";
    case lock_event::table_overflow:
      return "is one more than a thread's table holds: deadlocks with it end by time-out only";
    case lock_event::no_table:
      return "is used by one thread more than there are tables: its deadlocks end by time-out only";
  }
  return "";
}

/// A handler: prints the report to stderr.
inline void print_lock_report(const lock_report& report) {
  const auto print_lock = [](lock_label lock) {
    if (lock.name != nullptr) std::fprintf(stderr, "'%s' ", lock.name);
    std::fprintf(stderr, "%p", lock.address);
  };
  const auto print_place = [](const std::source_location& at) {
    if (at.line() == 0) {
      std::fputs(" (place unknown)\n", stderr);
    } else {
      std::fprintf(stderr, " at %s:%u\n", at.file_name(), static_cast<unsigned>(at.line()));
    }
  };
  const auto print_wait = [&](const lock_wait& wait) {
    std::fprintf(stderr, "  thread %u wants ", wait.thread);
    print_lock(wait.wanted);
    print_place(wait.at);
  };
  const auto print_unlock = [&](const lock_wait& unlock) {
    std::fprintf(stderr, "  unlocked by thread %u", unlock.thread);
    print_place(unlock.at);
    if (report.owner != 0) std::fprintf(stderr, "  thread %u holds it\n", report.owner);
  };
  const auto text = text_of(report.what);
  std::fputs("lockyard: lock ", stderr);
  print_lock(report.wait.wanted);
  std::fprintf(stderr, " %.*s\n", static_cast<int>(text.size()), text.data());
  if (report.what == lock_event::not_held) {
    print_unlock(report.wait);
  } else if (report.cycle.empty()) {
    print_wait(report.wait);
  }
  for (const lock_wait& each : report.cycle) print_wait(each);
  for (const lock_label& each : report.held) {
    std::fputs("  this thread holds ", stderr);
    print_lock(each);
    std::fputc('\n', stderr);
  }
}

namespace detail {
[[gnu::visibility(
    "default")]] inline constinit std::atomic<lock_report_handler> current_lock_report_handler{
    nullptr};
}  // namespace detail

/// Sets the handler of all reports from now on, in all threads, and returns the previous handler.
/// Null, the initial value, switches reports off.
inline lock_report_handler set_lock_report_handler(lock_report_handler next) noexcept {
  // order[set]: acq_rel; pairs [deliver, set]; publishes all that the handler relies on.
  return detail::current_lock_report_handler.exchange(next, std::memory_order_acq_rel);
}

namespace detail {
/// Calls the handler. `busy` marks that the thread is inside a handler.
inline void deliver(const lock_report& report, bool& busy) noexcept {
  // order[deliver]: acquire; pairs [set]; as in [set].
  const auto handler = current_lock_report_handler.load(std::memory_order_acquire);
  if (handler == nullptr || busy) return;
  const os::postponed_cancellation while_it_runs;
  busy = true;
#if defined(__cpp_exceptions)
  try {
    handler(report);
  } catch (...) {  // the caller gets the result in any case
  }
#else
  handler(report);
#endif
  busy = false;
}
}  // namespace detail

}  // namespace lockyard::inline v0
