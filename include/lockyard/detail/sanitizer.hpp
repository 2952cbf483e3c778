// SPDX-License-Identifier: Apache-2.0
#pragma once

// The annotations of locks for ThreadSanitizer. ThreadSanitizer needs no help to see that a lock of
// this library synchronises: the preset tsan-lock relies on that, and would show a lock that does
// not. With LOCKYARD_TSAN_ANNOTATIONS (the preset tsan-user) it treats locks as mutexes instead,
// and reports lock-order inversions and misuse in the program under test.

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define LOCKYARD_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKYARD_UNDER_TSAN 1
#endif
#endif
#if !defined(LOCKYARD_UNDER_TSAN)
#define LOCKYARD_UNDER_TSAN 0
#endif

#if LOCKYARD_UNDER_TSAN && defined(LOCKYARD_TSAN_ANNOTATIONS)
#include <sanitizer/tsan_interface.h>
#endif

namespace lockyard::inline v0::detail::sanitizer {

/// Whether this build runs under ThreadSanitizer, which models neither fences nor membarrier.
inline constexpr bool under_tsan = LOCKYARD_UNDER_TSAN != 0;

/// The way in which a lock is acquired; for a release, the way in which it was acquired.
enum class attempt : std::uint8_t { blocking, trying, sharing, trying_to_share };

constexpr bool is_trying(attempt kind) noexcept {
  return kind == attempt::trying || kind == attempt::trying_to_share;
}
constexpr bool is_sharing(attempt kind) noexcept {
  return kind == attempt::sharing || kind == attempt::trying_to_share;
}

#if LOCKYARD_UNDER_TSAN && defined(LOCKYARD_TSAN_ANNOTATIONS)
constexpr unsigned tsan_flags(attempt kind) noexcept {
  return (is_trying(kind) ? __tsan_mutex_try_lock : 0U) |
         (is_sharing(kind) ? __tsan_mutex_read_lock : 0U);
}
inline void before_acquire(const void* lock, attempt kind) noexcept {
  __tsan_mutex_pre_lock(const_cast<void*>(lock), tsan_flags(kind));
}
inline void after_acquire(const void* lock, attempt kind, bool acquired) noexcept {
  const unsigned failed = acquired ? 0 : __tsan_mutex_try_lock_failed;
  __tsan_mutex_post_lock(const_cast<void*>(lock), tsan_flags(kind) | failed, 0);
}
inline void before_release(const void* lock, attempt kind) noexcept {
  __tsan_mutex_pre_unlock(const_cast<void*>(lock), tsan_flags(kind));
}
inline void after_release(const void* lock, attempt kind) noexcept {
  __tsan_mutex_post_unlock(const_cast<void*>(lock), tsan_flags(kind));
}
inline void before_notify(const void* lock) noexcept {
  __tsan_mutex_pre_signal(const_cast<void*>(lock), 0);
}
inline void after_notify(const void* lock) noexcept {
  __tsan_mutex_post_signal(const_cast<void*>(lock), 0);
}
#else
inline void before_acquire(const void* /*lock*/, attempt /*kind*/) noexcept {}
inline void after_acquire(const void* /*lock*/, attempt /*kind*/, bool /*acquired*/) noexcept {}
inline void before_release(const void* /*lock*/, attempt /*kind*/) noexcept {}
inline void after_release(const void* /*lock*/, attempt /*kind*/) noexcept {}
inline void before_notify(const void* /*lock*/) noexcept {}
inline void after_notify(const void* /*lock*/) noexcept {}
#endif

}  // namespace lockyard::inline v0::detail::sanitizer
