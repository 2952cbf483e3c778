// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common parts of tracing: the trace that is being written, a thread's data of its ring, the
// clock, and the write of an event.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/os/switch_records.hpp>
#include <lockyard/detail/os/trace_memory.hpp>
#include <lockyard/detail/trace_format.hpp>
#include <lockyard/world/native.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::trace::detail {

namespace os = lockyard::detail::os;
namespace arch = lockyard::detail::arch;

/// The trace that is being written; null if there is none.
/// A forked child has none: it has the parent's mapping, in which only the parent's threads write.
struct [[gnu::visibility("default")]] current_trace {
  static constexpr lockyard::detail::state_traits process_traits{
      .key = lockyard::detail::state_key{"current_trace"}.value(),
      .starts_as_zeros = true,
      .is_wiped_on_fork = true};

  std::atomic<header*> is{nullptr};
};

inline header* current() noexcept {
  // order[current]: acquire; pairs [trace_rings.hpp:begin]; the header is written before any thread
  // stamps.
  return native::process_state<current_trace>().is.load(std::memory_order_acquire);
}

/// The precision of a stamp's time: `early` costs less, and may be some nanoseconds before the end
/// of operations that come earlier in the program.
enum class reading : std::uint8_t { early, settled };

inline std::uint64_t ticks_now(bool of_counter, reading how) noexcept {
  if (!of_counter) [[unlikely]]
    return os::monotonic_raw_ns();
  if (how == reading::settled) arch::settle();
  return arch::cycle_counter_early();
}

/// Both clocks, read as close together as possible in several tries, because the thread may lose
/// its processor between two reads.
struct moment {
  std::uint64_t ticks;
  std::uint64_t raw_ns;

  static moment now(bool of_counter, int tries = 8) noexcept {
    moment best{};
    std::uint64_t shortest = UINT64_MAX;
    for (int attempt = 0; attempt < tries; ++attempt) {
      const std::uint64_t before = ticks_now(of_counter, reading::settled);
      const std::uint64_t raw_ns = os::monotonic_raw_ns();
      const std::uint64_t length = ticks_now(of_counter, reading::settled) - before;
      if (length >= shortest) continue;
      shortest = length;
      best = {.ticks = of_counter ? before + length / 2 : raw_ns, .raw_ns = raw_ns};
    }
    return best;
  }
};

inline double ns_per_tick(const moment& first, const moment& last) noexcept {
  if (last.ticks <= first.ticks) return 1.0;
  return static_cast<double>(last.raw_ns - first.raw_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

/// A thread's data of its ring. Trivially destructible, so that locks can be acquired until the
/// thread has ended.
struct [[gnu::visibility("default")]] own_ring {
  header* of = nullptr;  ///< the trace to which the other members belong
  ring* to = nullptr;    ///< null: the thread writes no events
  std::uint32_t* cpu = nullptr;
  std::uint32_t last = 0;  ///< place of a ring
  bool uses_counter = false;
  bool is_writing = false;               ///< a signal handler's stamps meanwhile are lost
  std::uint32_t pauses = 0;              ///< since the last stamp
  std::uint64_t* switch_head = nullptr;  ///< how far the kernel is with this thread's records
  os::switch_pages switches{};
  os::switch_reader reader{};
  moment first{};   ///< when the switches began
  moment nearby{};  ///< at one of the latest switches
  double ns_per_tick = 1.0;
};

inline std::uint32_t no_cpu = unknown_cpu;
inline std::uint64_t no_switches = 0;

/// Writes an event into a ring that no other thread writes.
inline void write(ring& to, std::uint32_t last, const event& what) noexcept {
  const std::uint64_t number = to.written;
  to.events()[number & last] = what;
  // order[written]: release; pairs [trace_rings.hpp:inherit]; a reader, in this process or another
  // one, finds all events that are counted.
  std::atomic_ref{to.written}.store(number + 1, std::memory_order_release);
}

}  // namespace lockyard::inline v0::trace::detail
