// SPDX-License-Identifier: Apache-2.0
#pragma once

// Starts and stops the trace of a program's traced locks. docs/tracing.md is the manual.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/os/switch_records.hpp>
#include <lockyard/detail/os/trace_memory.hpp>
#include <lockyard/detail/trace_format.hpp>
#include <lockyard/world/trace_rings.hpp>
#include <lockyard/world/trace_state.hpp>
#include <lockyard/world/trace_switches.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

namespace lockyard::inline v0::trace {

/// How much a trace keeps. Unused rings cost no processor time, but they cost memory: 32 bytes for
/// each event.
struct size {
  std::uint32_t rings = 64;      ///< one for each thread at a time, and one for names
  std::uint32_t events = 16384;  ///< each thread's latest events; rounded up to a power of two
  bool switches = true;          ///< also the kernel's records of each thread's switches

  static constexpr std::uint32_t most_rings = 4096;
  static constexpr std::uint32_t most_events = std::uint32_t{1} << 24U;
};

/// The clock of a trace, and the length of a tick.
struct rate {
  bool of_counter;
  double ns_per_tick;
};

namespace detail {

/// The file of a trace if the user names none; the reader finds it by the process's mappings.
inline constexpr std::string_view default_file = "/dev/shm/lockyard.%p.trace";

inline constexpr const char* not_asked_for = "the program has not asked for switch records";
inline constexpr const char* why_no_wakeups =
    "a program's own trace has its switches and no wake-ups; the study stalls records both";

template <std::size_t Room>
void copy(std::array<char, Room>& to, std::string_view from) noexcept {
  to[from.copy(to.data(), Room - 1)] = '\0';
}

/// Replaces %p in the name by the process's id.
inline bool expand(std::string_view name, std::array<char, 4096>& to) noexcept {
  std::size_t used = 0;
  while (!name.empty()) {
    if (used + 16 > to.size()) return false;
    if (name.starts_with("%p")) {
      const auto end = std::to_chars(to.data() + used, to.data() + to.size(), os::process_id());
      used = static_cast<std::size_t>(end.ptr - to.data());
      name.remove_prefix(2);
    } else {
      to[used++] = name.front();
      name.remove_prefix(1);
    }
  }
  to[used] = '\0';
  return used > 0;
}

/// Measures the cycle counter if it is invariant and the kernel trusts it; takes five milliseconds.
inline rate measured_rate() noexcept {
  if (!arch::cycle_counter_is_invariant() || !os::kernel_trusts_counter()) return {false, 1.0};
  const moment first = moment::now(true);
  os::sleep_ns(5'000'000);
  return {true, ns_per_tick(first, moment::now(true))};
}

inline std::size_t bytes_of(size wanted) noexcept {
  return header::bytes +
         std::size_t{wanted.rings} * (sizeof(ring) + std::size_t{wanted.events} * sizeof(event));
}

/// Returns true if the kernel may record the calling thread's switches; if not, the trace gets the
/// reason.
inline bool may_have_switches(header& of) noexcept {
  const auto [pages, error, memory_was_refused] = os::open_switch_pages(1);
  if (pages.begin == nullptr) {
    say_why_no_switches(of.why_no_switches, error, memory_was_refused);
    return false;
  }
  os::close_switch_pages(pages);
  return true;
}

/// Returns the number of rings that are not for threads: the ring of names, and the ring of the
/// switches that are added at the end.
inline std::uint32_t rings_beside(size wanted) noexcept {
  return wanted.switches ? header::last_switches + 1 : 1;
}

/// Makes a trace from zero bytes. Its first rings are not for threads (see rings_beside()), and
/// `wanted.rings` includes them. `wanted.events` is a power of two.
inline header* make_header(void* at, size wanted, rate clock, std::string_view title) noexcept {
  auto* const made = ::new (at) header{};
  const moment start = moment::now(clock.of_counter);
  made->version = header::right_version;
  made->header_bytes = header::bytes;
  made->event_bytes = sizeof(event);
  made->ring_events = wanted.events;
  made->ring_count = wanted.rings;
  made->pid = os::process_id();
  made->ns_per_tick = clock.ns_per_tick;
  made->start_ticks = start.ticks;
  made->start_raw_ns = start.raw_ns;
  made->uses_counter = clock.of_counter ? 1 : 0;
  made->rings_taken = rings_beside(wanted);
  made->ring_at(0)->kind = ring_kind::names;
  copy(made->title, title);
  copy(made->why_no_switches, wanted.switches ? "" : not_asked_for);
  if (wanted.switches) {
    made->ring_at(header::last_switches)->kind = ring_kind::switches;
    made->has_switches = may_have_switches(*made) ? 1 : 0;
  }
  copy(made->why_no_wakeups, why_no_wakeups);
  made->magic = header::right_magic;
  return made;
}

/// Ends the trace, makes its rate exact, and adds the switches after each thread's last stamp.
/// Returns null if no trace was being written.
inline header* finish() noexcept {
  header* const ended = end();
  if (ended == nullptr) return nullptr;
  const moment last = moment::now(ended->uses_counter != 0);
  const moment first{.ticks = ended->start_ticks, .raw_ns = ended->start_raw_ns};
  if (last.raw_ns - first.raw_ns > 10'000'000) {
    // relaxed(atomicity): a thread that takes a ring at this moment may still read the old rate.
    std::atomic_ref{ended->ns_per_tick}.store(ns_per_tick(first, last), std::memory_order_relaxed);
  }
  add_last_switches(*ended, last);
  ended->ends_ticks = last.ticks;
  return ended;
}

}  // namespace detail

/// Effects: from now on all threads of the process stamp their operations on traced locks, into
///   `file`, where %p stands for the process's id. An existing file is replaced if it is a trace. A
///   forked child writes nothing.
/// Errors: the system's error for the file; `device_or_resource_busy` if a trace is being written;
///   `invalid_argument` for a size of zero, or beyond the maximum; `filename_too_long`.
inline std::error_code start(std::string_view file = detail::default_file, size wanted = {},
                             std::string_view title = {}) noexcept {
  if (wanted.rings == 0 || wanted.rings >= size::most_rings || wanted.events == 0 ||
      wanted.events > size::most_events) {
    return std::make_error_code(std::errc::invalid_argument);
  }
  if (detail::current() != nullptr) {
    return std::make_error_code(std::errc::device_or_resource_busy);
  }
  std::array<char, 4096> path{};
  if (!detail::expand(file, path)) return std::make_error_code(std::errc::filename_too_long);
  wanted = {.rings = wanted.rings + detail::rings_beside(wanted),
            .events = std::bit_ceil(wanted.events),
            .switches = wanted.switches};
  const std::size_t bytes = detail::bytes_of(wanted);
  const rate clock = detail::measured_rate();
  const auto [begin, error] = detail::os::map_new_file(
      path.data(), bytes, header::right_magic.data(), header::right_magic.size());
  if (begin == nullptr) return {error, std::generic_category()};
  if (detail::begin(detail::make_header(begin, wanted, clock, title))) return {};
  detail::os::unmap(begin, bytes);
  return std::make_error_code(std::errc::device_or_resource_busy);
}

/// Effects: ends the trace, if one is being written. The file and its mapping remain, because a
///   thread may be about to write its last stamp.
inline void stop() noexcept {
  detail::finish();
}

/// Effects: the calling thread gets its ring of the trace now, and not with its first stamp, which
///   may be in code that has no time for system calls.
inline void join() noexcept {
  detail::join();
}

[[nodiscard]] inline bool is_running() noexcept {
  return detail::current() != nullptr;
}

/// Effects: names the lock at this address `text` in the trace that is being written; without a
///   trace, or where there is no room for more names, none. Not from a signal handler.
inline void name(const void* lock, std::string_view text) noexcept {
  static constinit std::atomic<bool> taken{false};
  header* const to = detail::current();
  if (to == nullptr) return;
  // order[name]: acquire; pairs [named]; one thread at a time.
  while (taken.exchange(true, std::memory_order_acquire)) native::yield();
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < to->names; ++i) {
    used += std::strlen(to->all_names.data() + used) + 1;
  }
  if (used + text.size() + 1 < to->all_names.size()) {
    text.copy(to->all_names.data() + used, text.size());
    detail::write(*to->ring_at(0), to->ring_events - 1,
                  {.ticks = detail::ticks_now(to->uses_counter != 0, detail::reading::early),
                   .lock = reinterpret_cast<std::uintptr_t>(lock),
                   .kind = event_kind::named,
                   .cpu = unknown_cpu,
                   .argument = to->names});
    ++to->names;
  }
  // order[named]: release; pairs [name]; as in [name].
  taken.store(false, std::memory_order_release);
}

}  // namespace lockyard::inline v0::trace
