// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the parts of a trace share: which one is being written, what a thread knows of its ring, the
// clock, and how an event is written.

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
  // order[current]: acquire; pairs [trace_rings.hpp:begin]; the header is written before anybody
  // stamps.
  return native::process_state<current_trace>().is.load(std::memory_order_acquire);
}

/// When a stamp is of: `early` costs less, and may be some nanoseconds before what comes earlier in
/// the program has been done.
enum class reading : std::uint8_t { early, settled };

inline std::uint64_t ticks_now(bool of_counter, reading how) noexcept {
  if (!of_counter) [[unlikely]]
    return os::monotonic_raw_ns();
  if (how == reading::settled) arch::settle();
  return arch::cycle_counter_early();
}

/// Both clocks as close together as some tries allow: more than one, for between two readings the
/// thread may lose its processor.
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

/// What a thread knows of its ring. Trivially destructible, so that locks can be taken until the
/// thread is gone.
struct [[gnu::visibility("default")]] own_ring {
  header* of = nullptr;  ///< the trace for which the rest was found
  ring* to = nullptr;    ///< null: nothing is written
  std::uint32_t* cpu = nullptr;
  std::uint32_t last = 0;  ///< place of a ring
  bool uses_counter = false;
  bool is_writing = false;               ///< what a signal handler stamps meanwhile is lost
  std::uint64_t* switch_head = nullptr;  ///< how far the kernel is with this thread's records
  os::switch_pages switches{};
  os::switch_reader reader{};
  moment first{};   ///< when the switches began
  moment nearby{};  ///< at one of the latest
  double ns_per_tick = 1.0;
};

inline std::uint32_t no_cpu = unknown_cpu;
inline std::uint64_t no_switches = 0;

/// Writes an event into a ring that nobody else writes.
inline void write(ring& to, std::uint32_t last, const event& what) noexcept {
  const std::uint64_t number = to.written;
  to.events()[number & last] = what;
  // order[written]: release; pairs [trace_rings.hpp:inherit]; a reader, in this process or another
  // one, finds all events that are counted.
  std::atomic_ref{to.written}.store(number + 1, std::memory_order_release);
}

}  // namespace lockyard::inline v0::trace::detail
