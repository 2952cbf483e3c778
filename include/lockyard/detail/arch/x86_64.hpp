// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cpuid.h>

#include <cstddef>
#include <cstdint>

// The compilers' own names of instructions: <x86intrin.h> has 60,000 lines.
namespace lockyard::inline v0::detail::arch {

/// Tells the processor that this is a spin loop; costs 10 to 140 cycles depending on the model.
inline void pause() noexcept {
  __builtin_ia32_pause();
}

/// Whether a thread can wait for a change of a cache line (WAITPKG: CPUID 7, ECX bit 5). Slow.
inline bool can_await_change() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 5U)) != 0;
}

/// Waits until another thread may have written to the cache line of the address, or for some
/// microseconds at most, in a state that leaves the core's resources to its other thread. Does not
/// wait if `is_unchanged()`, called once, returns false. Precondition: can_await_change().
template <class Predicate>
void await_change(const void* address, Predicate is_unchanged) noexcept {
  constexpr std::uint64_t longest = 4096;  // ticks of the time-stamp counter
  constexpr std::uint32_t light_sleep = 1;
  asm volatile("umonitor %0" ::"r"(address) : "memory");
  if (!is_unchanged()) return;
  const std::uint64_t end = __builtin_ia32_rdtsc() + longest;
  asm volatile("umwait %0" ::"r"(light_sleep), "a"(static_cast<std::uint32_t>(end)),
               "d"(static_cast<std::uint32_t>(end >> 32U))
               : "cc", "memory");
}

/// Bytes that two threads must keep apart to stay out of each other's way: two lines, because
/// the spatial prefetcher fetches them in pairs.
inline constexpr std::size_t interference_size = 128;

/// The bit that is zero in every address of a process, whatever tags its upper bits may have.
inline constexpr std::uint64_t spare_address_bit = std::uint64_t{1} << 63U;

/// Returns the address where the thread's own data begin; the ABI stores it at that address.
inline std::uintptr_t thread_pointer() noexcept {
  std::uintptr_t begin = 0;
  asm("movq %%fs:0, %0" : "=r"(begin));
  return begin;
}

/// Reads the time-stamp counter after every earlier instruction has been executed.
inline std::uint64_t cycle_counter() noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  // rdtscp's third result, the processor's number, would cost the intrinsic a store.
  asm volatile("rdtscp" : "=a"(low), "=d"(high)::"rcx", "memory");
  return std::uint64_t{high} << 32U | low;
}

/// Reads the time-stamp counter, perhaps before earlier instructions have been executed: for the
/// beginning of an interval, which then includes the instructions that were still under way.
inline std::uint64_t cycle_counter_early() noexcept {
  return __builtin_ia32_rdtsc();
}

/// Delays all later instructions until every earlier instruction has been executed.
inline void settle() noexcept {
  __builtin_ia32_lfence();
}

/// Whether the counter runs at one rate through every power state (CPUID 8000_0007h, EDX bit 8).
inline bool cycle_counter_is_invariant() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8U)) != 0;
}

}  // namespace lockyard::inline v0::detail::arch
