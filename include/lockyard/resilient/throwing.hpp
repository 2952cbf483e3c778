// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/resilient/lock_result.hpp>
#include <lockyard/world/in_world.hpp>

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <system_error>
#include <utility>

namespace lockyard::inline v0 {

namespace detail {
template <class Lock>
concept has_time_outs = requires(Lock& lock) { lock.try_lock_for(std::chrono::nanoseconds{}); };

[[noreturn, gnu::noinline, gnu::cold]] inline void throw_lock_error(lock_result how) {
#if defined(__cpp_exceptions)
  throw std::system_error{how.error()};
#else
  std::fprintf(stderr, "lockyard: lock() failed, and there are no exceptions: %s\n",
               how.error().message().c_str());
  std::abort();
#endif
}
}  // namespace detail

/// Adapts a resilient lock to the standard's guards: a failure throws std::system_error, as
/// std::mutex does, with the code of lock_errc. Use it with std::scoped_lock, std::unique_lock, and
/// other code that would not check a result. Without exceptions, a failure ends the process.
template <class Lock>
class LOCKYARD_CAPABILITY throwing {
 public:
  constexpr throwing() noexcept = default;
  constexpr explicit throwing(const char* name) noexcept
    requires std::constructible_from<Lock, const char*>
      : lock_{name} {}

  /// As Lock's lock(). Errors: throws the error that Lock's lock() returns.
  void lock(std::source_location at = std::source_location::current()) noexcept(!Lock::recovers)
      LOCKYARD_ACQUIRE() {
    check(lock_.lock(at));
  }
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) { return lock_.try_lock(); }
  /// As Lock's try_lock_for(): returns true for `acquired` and false for `timed_out`, which is not
  /// an error here; throws all other errors.
  template <class Rep, class Period>
    requires detail::has_time_outs<Lock>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration,
                                  std::source_location at = std::source_location::current())
      LOCKYARD_TRY_ACQUIRE(true) {
    return check_timed(lock_.try_lock_for(duration, at));
  }
  template <class Clock, class Duration>
    requires detail::has_time_outs<Lock>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit,
                                    std::source_location at = std::source_location::current())
      LOCKYARD_TRY_ACQUIRE(true) {
    return check_timed(lock_.try_lock_until(limit, at));
  }
  void unlock(std::source_location at = std::source_location::current()) noexcept
      LOCKYARD_RELEASE() {
    lock_.unlock(at);
  }

  void assert_held() const noexcept LOCKYARD_ASSERT_HELD(this) { lock_.assert_held(); }
  void assert_not_held() const noexcept LOCKYARD_EXCLUDES(this) { lock_.assert_not_held(); }

  [[nodiscard]] Lock& get() noexcept { return lock_; }

 private:
  static void check(lock_result how) LOCKYARD_UNCHECKED {
    if (!how) [[unlikely]]
      detail::throw_lock_error(how);
  }
  static bool check_timed(lock_result how) LOCKYARD_UNCHECKED {
    if (how.code() != lock_errc::timed_out) check(how);
    return static_cast<bool>(how);
  }

  Lock lock_;
};

namespace detail {
template <class Lock>
struct world_of<throwing<Lock>> : world_of<Lock> {};
template <class Lock, class World>
struct in_world<throwing<Lock>, World> {
  using type = throwing<typename in_world<Lock, World>::type>;
};
}  // namespace detail

}  // namespace lockyard::inline v0
