// SPDX-License-Identifier: Apache-2.0

// Takes the place of libstdc++'s header in code that is compiled for the checker. The standard says
// that a notification reaches each thread whose wait began with an older value. libstdc++'s own
// code relies on a count of waiters and on loops that count, which is right for processors, but not
// by the rules of C++ alone; so the checker waits as the standard says.

#if !defined(__GLIBCXX__) || _GLIBCXX_RELEASE < 11 || _GLIBCXX_RELEASE > 15
#include_next <bits/atomic_wait.h>
#elif !defined(_GLIBCXX_ATOMIC_WAIT_H)
#define _GLIBCXX_ATOMIC_WAIT_H 1
#pragma GCC system_header

#include <bits/c++config.h>

#define __cpp_lib_atomic_wait 201907L
#include <bits/functional_hash.h>
#include <bits/gthr.h>
#include <ext/numeric_traits.h>
#include <type_traits>

extern "C" {
/// Waits until the object holds another value than the one that the thread has read last, or for no
/// reason; a notification ends the wait.
void lockyard_atomic_wait(const void* object, unsigned long size) noexcept;
/// The same with a limit; true if the limit ended it.
bool lockyard_atomic_wait_limited(const void* object, unsigned long size) noexcept;
/// Called before the thread looks whether it has to wait.
void lockyard_atomic_watch(const void* object, unsigned long size) noexcept;
/// Whether the thread has seen several values in it since, and has to look again.
bool lockyard_atomic_has_changed() noexcept;
void lockyard_atomic_notify(const void* object, bool all) noexcept;
void lockyard_atomic_yield() noexcept;
}

namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION

namespace __detail {

using __platform_wait_t = int;
inline constexpr size_t __platform_wait_alignment = 4;

inline void __thread_yield() noexcept {
  lockyard_atomic_yield();
}
inline void __thread_relax() noexcept {
  lockyard_atomic_yield();
}

/// Values that a register holds, and that are equal if their bytes are.
template <typename _Tp>
inline constexpr bool __is_in_register = std::is_integral_v<_Tp> || std::is_enum_v<_Tp>;
template <typename _Tp>
inline constexpr bool __is_in_register<_Tp*> = true;

template <typename _Tp>
bool __atomic_compare(const _Tp& __a, const _Tp& __b) {
  if constexpr (__is_in_register<_Tp>) return __a == __b;
  return __builtin_memcmp(&__a, &__b, sizeof(_Tp)) == 0;
}

/// Overwrites a value that is used no more. A loop around the wait would otherwise seem to be in
/// another state after each value.
template <typename _Tp>
inline void __forget([[maybe_unused]] _Tp& __used) noexcept {
#ifdef __x86_64__
  if constexpr (__is_in_register<_Tp>) asm volatile("xorl %k0, %k0" : "+r"(__used) : : "cc");
#endif
}

/// Tries once: the attempts of a loop that counts differ in nothing.
template <typename _Pred>
bool __atomic_spin(_Pred& __pred) noexcept {
  return __pred();
}

}  // namespace __detail

template <typename _Tp>
inline constexpr bool __platform_wait_uses_type = true;

template <typename _Tp, typename _ValFn>
void __atomic_wait_address_v(const _Tp* __addr, _Tp __old, _ValFn __vfn) noexcept {
  while (__detail::__atomic_compare(__old, __vfn())) {
    lockyard_atomic_wait(__addr, sizeof(_Tp));
  }
  __detail::__forget(__old);
}

template <typename _Tp, typename _Pred>
void __atomic_wait_address(const _Tp* __addr, _Pred __pred) noexcept {
  for (;;) {
    lockyard_atomic_watch(__addr, sizeof(_Tp));
    if (__pred()) return;
    if (!lockyard_atomic_has_changed()) lockyard_atomic_wait(__addr, sizeof(_Tp));
  }
}

template <typename _Pred>
void __atomic_wait_address_bare(const __detail::__platform_wait_t* __addr, _Pred __pred) noexcept {
  std::__atomic_wait_address(__addr, __pred);
}

template <typename _Tp>
void __atomic_notify_address(const _Tp* __addr, bool __all) noexcept {
  lockyard_atomic_notify(__addr, __all);
}

inline void __atomic_notify_address_bare(const __detail::__platform_wait_t* __addr,
                                         bool __all) noexcept {
  lockyard_atomic_notify(__addr, __all);
}

_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#endif
