// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernel tells about the threads of this process, and the extension of a time slice.

#include <lockyard/detail/os/linux.hpp>

#include <sys/prctl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace lockyard::inline v0::detail::os {

/// Returns the processor time that a thread of this process has used, up to now also if it runs;
/// nothing if this process has no such thread. The kernel finds the thread by its number, so no
/// memory of the thread is read.
inline std::optional<std::int64_t> processor_time_ns(std::uint32_t thread) noexcept {
  // The kernel's encoding of a clock: the thread, "of one thread", "as the scheduler counts".
  constexpr std::uint32_t per_thread = 4, scheduler = 2;
  timespec used{};
  const auto clock = static_cast<std::int32_t>(~thread << 3U | per_thread | scheduler);
  if (call(SYS_clock_gettime, clock, &used) != 0) return std::nullopt;
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

/// Returns the area that the kernel keeps up to date for the calling thread; null where there is
/// none. `thread` is the thread pointer.
inline char* rseq_area([[maybe_unused]] std::uintptr_t thread) noexcept {
#if __has_include(<sys/rseq.h>)
  if (__rseq_size == 0) return nullptr;
  return reinterpret_cast<char*>(thread + static_cast<std::uintptr_t>(__rseq_offset));
#else
  return nullptr;
#endif
}

/// Returns the address where the kernel stores the processor that the calling thread runs on; null
/// where the kernel does not store it. `thread` is the thread pointer.
inline std::uint32_t* cpu_of_thread(std::uintptr_t thread) noexcept {
  constexpr std::size_t cpu_id = 4;
  char* const area = rseq_area(thread);
  return area == nullptr ? nullptr : reinterpret_cast<std::uint32_t*>(area + cpu_id);
}

/// Returns the number of the processor that the calling thread runs on, plus 1; 0 if unknown.
inline std::uint32_t processor_and_one(std::uintptr_t thread) noexcept {
  const std::uint32_t* const cpu = cpu_of_thread(thread);
  if (cpu == nullptr) return 0;
  // relaxed(hint): the kernel may move the thread at any time.
  const auto number = static_cast<std::int32_t>(
      reinterpret_cast<const std::atomic<std::uint32_t>*>(cpu)->load(std::memory_order_relaxed));
  return number < 0 ? 0 : static_cast<std::uint32_t>(number) + 1;
}

/// A thread's request not to be preempted for some microseconds (Documentation/userspace-api/
/// rseq.rst, since Linux 7.0). The kernel reads and writes it on behalf of the thread. When it
/// grants a request, it clears `request` and sets `granted`; when it takes the grant back, it
/// clears `granted`.
struct slice_control {
  std::atomic<std::uint8_t> request{0};
  std::atomic<std::uint8_t> granted{0};
};

/// Enables the extension for the calling thread; returns null where the kernel does not have it.
inline slice_control* enable_slice_extension(std::uintptr_t thread) noexcept {
  // As in <linux/prctl.h>, which may be older.
  constexpr int rseq_slice_extension = 79, set = 2, enable = 1;
  constexpr std::size_t place = 28;
  char* const area = rseq_area(thread);
  if (area == nullptr || call(SYS_prctl, rseq_slice_extension, set, enable, 0, 0) != 0) {
    return nullptr;
  }
  return reinterpret_cast<slice_control*>(area + place);
}

/// Gives a granted extension back, and the processor to the thread that waits for it.
inline void end_slice_extension() noexcept {
  constexpr long rseq_slice_yield = 471;
  call(rseq_slice_yield);
}

}  // namespace lockyard::inline v0::detail::os
