// SPDX-License-Identifier: Apache-2.0

// Takes the place of libstdc++'s header in code that is compiled for the checker, as atomic_wait.h
// does. A limit may pass at any time.

#if !defined(__GLIBCXX__) || _GLIBCXX_RELEASE < 11 || _GLIBCXX_RELEASE > 15
#include_next <bits/atomic_timed_wait.h>
#elif !defined(_GLIBCXX_ATOMIC_TIMED_WAIT_H)
#define _GLIBCXX_ATOMIC_TIMED_WAIT_H 1
#pragma GCC system_header

#include <bits/atomic_wait.h>
#include <bits/chrono.h>

namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION

// Each returns true if the wait ended before its limit.

template <typename _Tp, typename _ValFn, typename _When>
bool __atomic_wait_address_until_v(const _Tp* __addr, _Tp&& __old, _ValFn&& __vfn,
                                   const _When&) noexcept {
  while (__detail::__atomic_compare(__old, __vfn())) {
    if (lockyard_atomic_wait_limited(__addr, sizeof(_Tp))) {
      return !__detail::__atomic_compare(__old, __vfn());
    }
  }
  return true;
}

template <typename _Tp, typename _Pred, typename _When>
bool __atomic_wait_address_until(const _Tp* __addr, _Pred __pred, const _When&) noexcept {
  for (;;) {
    lockyard_atomic_watch(__addr, sizeof(_Tp));
    if (__pred()) return true;
    if (lockyard_atomic_has_changed()) continue;
    if (lockyard_atomic_wait_limited(__addr, sizeof(_Tp))) return __pred();
  }
}

template <typename _Pred, typename _When>
bool __atomic_wait_address_until_bare(const __detail::__platform_wait_t* __addr, _Pred __pred,
                                      const _When& __when) noexcept {
  return std::__atomic_wait_address_until(__addr, __pred, __when);
}

template <typename _Tp, typename _ValFn, typename _Length>
bool __atomic_wait_address_for_v(const _Tp* __addr, _Tp&& __old, _ValFn&& __vfn,
                                 const _Length& __length) noexcept {
  return std::__atomic_wait_address_until_v(__addr, static_cast<_Tp&&>(__old), __vfn, __length);
}

template <typename _Tp, typename _Pred, typename _Length>
bool __atomic_wait_address_for(const _Tp* __addr, _Pred __pred, const _Length& __length) noexcept {
  return std::__atomic_wait_address_until(__addr, __pred, __length);
}

template <typename _Pred, typename _Length>
bool __atomic_wait_address_for_bare(const __detail::__platform_wait_t* __addr, _Pred __pred,
                                    const _Length& __length) noexcept {
  return std::__atomic_wait_address_until(__addr, __pred, __length);
}

_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#endif
