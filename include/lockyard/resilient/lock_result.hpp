// SPDX-License-Identifier: Apache-2.0
#pragma once

// The outcomes of an acquisition of a resilient lock.

#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>

namespace lockyard::inline v0 {

enum class lock_errc : std::uint8_t {
  acquired = 0,
  deadlock,     ///< this thread holds the lock already, or waiting for it would close a cycle
  timed_out,    ///< the lock stalled, or the caller's own time-out has passed
  owner_dead,   ///< the thread that held the lock has ended
  nested_busy,  ///< too many nested signal handlers of this thread wait already
};

/// The names and conditions of lock_errc. The kernel reports a nested wait and a deadlock by the
/// same error; this library reports two errors, because only the deadlock is proven.
class lock_error_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "lockyard"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<lock_errc>(code)) {
      case lock_errc::acquired: return "the lock is acquired";
      case lock_errc::deadlock: return "waiting for the lock would be a deadlock";
      case lock_errc::timed_out: return "the lock was not released in time";
      case lock_errc::owner_dead: return "the thread that holds the lock has ended";
      case lock_errc::nested_busy: return "too many nested signal handlers wait for locks";
    }
    return "unknown";
  }
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<lock_errc>(code)) {
      case lock_errc::acquired: return {};
      case lock_errc::deadlock: return std::errc::resource_deadlock_would_occur;
      case lock_errc::timed_out: return std::errc::timed_out;
      case lock_errc::owner_dead: return std::errc::owner_dead;
      case lock_errc::nested_busy: return std::errc::device_or_resource_busy;
    }
    return {code, *this};
  }
};

inline const std::error_category& lock_category() noexcept {
  static const lock_error_category category;
  return category;
}

inline std::error_code make_error_code(lock_errc code) noexcept {
  return {static_cast<int>(code), lock_category()};
}

/// The result of lock(); true means acquired. The caller must check it: a thread that continues
/// after a failure is not protected, and unlocks a lock that it does not hold.
class [[nodiscard]] lock_result {
 public:
  constexpr lock_result(lock_errc code) noexcept : code_{code} {}

  constexpr explicit operator bool() const noexcept { return code_ == lock_errc::acquired; }
  [[nodiscard]] constexpr lock_errc code() const noexcept { return code_; }
  [[nodiscard]] std::error_code error() const noexcept { return make_error_code(code_); }

  friend constexpr bool operator==(lock_result, lock_result) noexcept = default;

 private:
  lock_errc code_;
};

}  // namespace lockyard::inline v0

template <>
struct std::is_error_code_enum<lockyard::lock_errc> : std::true_type {};
