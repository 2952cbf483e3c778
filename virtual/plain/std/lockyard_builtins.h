// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included first in a module's code: the standard library's headers call these builtin functions,
// which the compiler would replace by instructions that the checker does not see.
#pragma GCC system_header

#ifdef __cplusplus
#define LOCKYARD_THROWS_NOTHING noexcept
extern "C" {
#else
#define LOCKYARD_THROWS_NOTHING
#endif
void* lockyard_memcpy(void*, const void*, __SIZE_TYPE__) LOCKYARD_THROWS_NOTHING __asm__("memcpy");
void* lockyard_memmove(void*, const void*, __SIZE_TYPE__)
    LOCKYARD_THROWS_NOTHING __asm__("memmove");
void* lockyard_memset(void*, int, __SIZE_TYPE__) LOCKYARD_THROWS_NOTHING __asm__("memset");
int lockyard_memcmp(const void*, const void*, __SIZE_TYPE__)
    LOCKYARD_THROWS_NOTHING __asm__("memcmp");
__SIZE_TYPE__ lockyard_strlen(const char*) LOCKYARD_THROWS_NOTHING __asm__("strlen");
unsigned long long lockyard_cycles(void) LOCKYARD_THROWS_NOTHING;
#ifdef __cplusplus
}
#endif
#undef LOCKYARD_THROWS_NOTHING

#if defined(__cplusplus) && __cplusplus >= 201103L
/* The compiler itself calls them for constants. */
[[gnu::always_inline]] constexpr int lockyard_compared(const void* a, const void* b,
                                                       __SIZE_TYPE__ bytes) noexcept {
  return __builtin_is_constant_evaluated() ? __builtin_memcmp(a, b, bytes)
                                           : lockyard_memcmp(a, b, bytes);
}
[[gnu::always_inline]] constexpr __SIZE_TYPE__ lockyard_length(const char* text) noexcept {
  return __builtin_is_constant_evaluated() ? __builtin_strlen(text) : lockyard_strlen(text);
}
#else
#define lockyard_compared lockyard_memcmp
#define lockyard_length lockyard_strlen
#endif

#define __builtin_memcpy lockyard_memcpy
#define __builtin_memmove lockyard_memmove
#define __builtin_memset lockyard_memset
#define __builtin_memcmp lockyard_compared
#define __builtin_strlen lockyard_length
/* _mm_mfence() and __rdtsc(). */
#define __builtin_ia32_mfence __sync_synchronize
#define __builtin_ia32_rdtsc lockyard_cycles

/* These builtins are full barriers, which a seq_cst operation is not, and the compiler does not
   tell the checker which of the two it has. __sync_lock_test_and_set() is an acquire, and
   __sync_lock_release() a release. */
#ifdef __cplusplus
#define LOCKYARD_DEDUCED auto
#else
#define LOCKYARD_DEDUCED __auto_type
#endif
#define LOCKYARD_BARRIER(operation)             \
  __extension__({                               \
    __sync_synchronize();                       \
    LOCKYARD_DEDUCED lockyard_made = operation; \
    __sync_synchronize();                       \
    lockyard_made;                              \
  })
#define __sync_fetch_and_add(...) LOCKYARD_BARRIER(__sync_fetch_and_add(__VA_ARGS__))
#define __sync_fetch_and_sub(...) LOCKYARD_BARRIER(__sync_fetch_and_sub(__VA_ARGS__))
#define __sync_fetch_and_or(...) LOCKYARD_BARRIER(__sync_fetch_and_or(__VA_ARGS__))
#define __sync_fetch_and_and(...) LOCKYARD_BARRIER(__sync_fetch_and_and(__VA_ARGS__))
#define __sync_fetch_and_xor(...) LOCKYARD_BARRIER(__sync_fetch_and_xor(__VA_ARGS__))
#define __sync_fetch_and_nand(...) LOCKYARD_BARRIER(__sync_fetch_and_nand(__VA_ARGS__))
#define __sync_add_and_fetch(...) LOCKYARD_BARRIER(__sync_add_and_fetch(__VA_ARGS__))
#define __sync_sub_and_fetch(...) LOCKYARD_BARRIER(__sync_sub_and_fetch(__VA_ARGS__))
#define __sync_or_and_fetch(...) LOCKYARD_BARRIER(__sync_or_and_fetch(__VA_ARGS__))
#define __sync_and_and_fetch(...) LOCKYARD_BARRIER(__sync_and_and_fetch(__VA_ARGS__))
#define __sync_xor_and_fetch(...) LOCKYARD_BARRIER(__sync_xor_and_fetch(__VA_ARGS__))
#define __sync_nand_and_fetch(...) LOCKYARD_BARRIER(__sync_nand_and_fetch(__VA_ARGS__))
#define __sync_bool_compare_and_swap(...) \
  LOCKYARD_BARRIER(__sync_bool_compare_and_swap(__VA_ARGS__))
#define __sync_val_compare_and_swap(...) LOCKYARD_BARRIER(__sync_val_compare_and_swap(__VA_ARGS__))
#include "lockyard_sized_builtins.h"

/* Attributes by which code asks not to be seen: one without an effect replaces them. */
#define no_sanitize_thread unused
#define no_sanitize(...) unused
/* The compiler drops a call of a pure function whose result is not used, with all that it reads. */
#define pure __unused__
#define __pure__ __unused__
