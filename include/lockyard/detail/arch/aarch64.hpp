// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail::arch {

/// Lets time pass in a spin loop: `isb` waits for the pipeline to drain, where `yield` does
/// nothing.
inline void pause() noexcept {
  asm volatile("isb" ::: "memory");
}

/// Bytes that two threads must keep apart to stay out of each other's way.
inline constexpr std::size_t interference_size = 128;

/// The virtual counter, not before every earlier instruction has been executed.
inline std::uint64_t cycle_counter() noexcept {
  std::uint64_t ticks = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
}

/// The virtual counter, perhaps before earlier instructions have been executed: for the
/// beginning of an interval, to which what was still under way is then added.
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
