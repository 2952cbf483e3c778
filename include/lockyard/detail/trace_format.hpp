// SPDX-License-Identifier: Apache-2.0
#pragma once

// The format of a trace file: a page about the whole trace, then rings, each with a head and its
// events. The writing process maps the file, so that the file can be read while the program runs,
// or after it has crashed. docs/tracing.md describes the format for readers.

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::trace {

/// The kinds of events, with their numbers in the file.
enum class event_kind : std::uint32_t {
  called = 1,  ///< a lock was called; the argument of these five kinds is an `attempt`, with 256
               ///< times the pauses since the last stamp plus 1 for the next two
  acquired = 2,
  failed = 3,
  releasing = 4,
  released = 5,
  yield_begin = 6,
  yield_end = 7,
  sleep_begin = 8,
  sleep_end = 9,
  wake_begin = 10,  ///< the argument is the most threads to wake
  wake_end = 11,
  switch_out = 32,  ///< the argument is 1 if the thread could have gone on
  switch_in = 33,
  woken = 34,         ///< the argument is the waking thread
  migrated = 35,      ///< the argument is the previous processor
  records_lost = 36,  ///< switches before the next one are missing; the argument is their number
  gap = 48,           ///< time that the machine took away; the argument is its length in ticks
  idle = 49,          ///< time in which a processor had no thread to run; the argument as above
  interrupt = 50,     ///< time in which a processor served an interrupt; the argument as above, and
                      ///< `lock` is an `interrupt_kind`
  named = 64,         ///< the argument is the index of the lock's name
};

/// The subject of a ring.
enum class ring_kind : std::uint32_t {
  unused = 0,
  stamps = 1,  ///< a thread's own records, and the kernel's records of its switches
  switches =
      2,     ///< kernel's records of a thread; thread 0: of all, `lock` of an event is the thread
  gaps = 3,  ///< the gaps and the interrupts of a processor
  names = 4,
  idle = 5,  ///< the idle times of a processor
};

/// The kinds of interrupts, with their numbers in the file.
enum class interrupt_kind : std::uint64_t {
  timer = 1,
  device = 2,
  deferred = 3,    ///< work that an earlier interrupt left (a softirq)
  call = 4,        ///< work for another processor
  page_fault = 5,  ///< its end is not recorded, so its length is 0
};

inline constexpr std::uint32_t unknown_cpu = UINT32_MAX;

struct event {
  std::uint64_t ticks;
  std::uint64_t lock;  ///< its address, or 0
  event_kind kind;
  std::uint32_t cpu;
  std::uint64_t argument;
};
static_assert(sizeof(event) == 32);

/// A ring, which its events follow. Their number is a power of two; event n is at n modulo it.
struct alignas(64) ring {
  ring_kind kind;
  std::uint32_t tid;
  std::uint64_t written;  ///< the number of all events written so far
  std::uint32_t cpu;      ///< the processor of a ring of gaps
  std::uint32_t index;
  std::uint64_t lost;  ///< events that were not written, or that another thread's events replaced
  std::array<char, 16> name;
  std::uint64_t pages;     ///< where the kernel writes; only for the program that writes the trace
  std::uint64_t switches;  ///< switch records that were read, plus 1; 0: no records are kept

  [[nodiscard]] event* events() noexcept { return reinterpret_cast<event*>(this + 1); }
  [[nodiscard]] const event* events() const noexcept {
    return reinterpret_cast<const event*>(this + 1);
  }
};
static_assert(sizeof(ring) == 64 && offsetof(ring, pages) == 48);

using sentence = std::array<char, 256>;

/// The first page.
struct header {
  static constexpr std::size_t bytes = 4096;
  static constexpr std::array<char, 8> right_magic{'L', 'Y', 'T', 'R', 'A', 'C', 'E', '\0'};
  static constexpr std::uint32_t right_version = 1;
  /// The ring of the switches that were added at the end of the trace, if switches are recorded.
  static constexpr std::uint32_t last_switches = 1;

  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t event_bytes;
  std::uint32_t ring_events;
  std::uint32_t ring_count;
  std::uint32_t pid;
  double ns_per_tick;
  std::uint64_t start_ticks;
  std::uint64_t start_raw_ns;  ///< CLOCK_MONOTONIC_RAW at start_ticks
  std::uint32_t has_switches;
  std::uint32_t has_wakeups;
  sentence why_no_wakeups;
  sentence why_no_switches;
  sentence title;
  std::uint64_t ends_ticks;            ///< 0 while it is being written
  std::uint64_t threads_without_ring;  ///< threads that are not in the trace
  std::uint32_t rings_taken;
  std::uint32_t uses_counter;  ///< ticks are the processor's counter, not CLOCK_MONOTONIC_RAW
  std::uint32_t names;
  std::uint32_t threads_without_switches;  ///< why_no_switches has the reason
  std::array<std::byte, 1184> nothing_yet;
  std::array<char, 2048> all_names;  ///< a zero ends each name

  [[nodiscard]] std::size_t ring_bytes() const noexcept {
    return sizeof(ring) + std::size_t{ring_events} * sizeof(event);
  }
  [[nodiscard]] ring* ring_at(std::uint32_t index) noexcept {
    return reinterpret_cast<ring*>(reinterpret_cast<std::byte*>(this) + bytes +
                                   index * ring_bytes());
  }
  [[nodiscard]] const ring* ring_at(std::uint32_t index) const noexcept {
    return reinterpret_cast<const ring*>(reinterpret_cast<const std::byte*>(this) + bytes +
                                         index * ring_bytes());
  }
  [[nodiscard]] std::size_t file_bytes() const noexcept {
    return bytes + ring_count * ring_bytes();
  }
};
static_assert(sizeof(header) == header::bytes);
static_assert(offsetof(header, why_no_wakeups) == 64 && offsetof(header, ends_ticks) == 832);
static_assert(offsetof(header, all_names) == 2048);

}  // namespace lockyard::inline v0::trace
