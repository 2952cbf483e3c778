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
#ifdef __cplusplus
}
#endif
#undef LOCKYARD_THROWS_NOTHING

#define __builtin_memcpy lockyard_memcpy
#define __builtin_memmove lockyard_memmove
#define __builtin_memset lockyard_memset
#define __builtin_memcmp lockyard_memcmp
#define __builtin_strlen lockyard_strlen
