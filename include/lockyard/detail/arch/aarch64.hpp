// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail::arch {

/// Lets time pass in a spin loop: `isb` discards the instructions fetched ahead, and so delays the
/// thread for a while; `yield` is a no-op on most cores.
inline void pause() noexcept {
  asm volatile("isb" ::: "memory");
}

/// Whether a thread can wait for a change of a word, and wakes up now and then without one: the
/// kernel runs the event stream (HWCAP_EVTSTRM).
inline bool can_await_change() noexcept {
  return (getauxval(AT_HWCAP) & (1U << 2U)) != 0;
}

/// Waits until another thread has written to the word at the address, or until an event, which
/// comes every 100 us at the latest. Does not wait if `is_unchanged()`, called once, returns
/// false. Precondition: can_await_change().
template <class Predicate>
void await_change(const void* address, Predicate is_unchanged) noexcept {
  std::uint32_t seen = 0;
  // The exclusive monitor is armed; a store of another core clears it, which is an event.
  asm volatile("ldxr %w0, [%1]" : "=r"(seen) : "r"(address) : "memory");
  if (is_unchanged()) asm volatile("wfe" ::: "memory");
}

/// Bytes that two threads must keep apart to stay out of each other's way.
inline constexpr std::size_t interference_size = 128;

/// The bit that is zero in every address of a process: it selects the kernel's half, and the bits
/// above it may have tags.
inline constexpr std::uint64_t spare_address_bit = std::uint64_t{1} << 55U;

/// Returns the address where the thread's own data begin.
inline std::uintptr_t thread_pointer() noexcept {
  std::uintptr_t begin = 0;
  asm("mrs %0, tpidr_el0" : "=r"(begin));
  return begin;
}

/// Reads the virtual counter, after every earlier branch is decided, and therefore after the load
/// that a branch depends on: so after an acquisition, which ends with such a branch. Earlier
/// stores, and earlier loads that no branch depends on, may still be under way.
inline std::uint64_t cycle_counter() noexcept {
  std::uint64_t ticks = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
}

/// Delays all later instructions until every earlier branch is decided; an earlier instruction that
/// no branch waits for may still be under way.
inline void settle() noexcept {
  asm volatile("isb" ::: "memory");
}

/// Reads the virtual counter, perhaps before earlier instructions have been executed: for the
/// beginning of an interval, which then includes the instructions that were still under way.
inline std::uint64_t cycle_counter_early() noexcept {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
}

/// The architecture promises one rate and one value for all cores.
inline bool cycle_counter_is_invariant() noexcept {
  return true;
}

}  // namespace lockyard::inline v0::detail::arch
