// SPDX-License-Identifier: Apache-2.0
#pragma once

// The processor, and system calls that do not pass through the program's own functions.

#include "../confinement.hpp"

#include <asm/unistd.h>

#include <cerrno>
#include <cstdint>

namespace lockyard::preload::record {

#if defined(__x86_64__)

inline std::uint64_t ticks() {
  return __builtin_ia32_rdtsc();
}

/// Returns what the kernel returns: an error is a negative number, and errno stays as it is.
inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                   long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline std::uint64_t ticks() {
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
}

inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                   long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}

#else
#error "the recorder knows x86-64 and aarch64 only"
#endif

/// Lets another thread run; a confined process only waits for a moment.
inline void yield() {
  if (!is_confined()) {
    kernel(__NR_sched_yield);
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

template <class T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace lockyard::preload::record
