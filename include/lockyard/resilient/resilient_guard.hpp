// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/resilient/lock_result.hpp>

#include <source_location>
#include <system_error>
#include <utility>

namespace lockyard::inline v0 {

/// Holds a resilient lock until the guard's destruction, or stores the reason of the failure:
/// `if (resilient_guard held{lock}) …; else return held.error();`
/// Not annotated for Clang's thread-safety analysis, which cannot express a constructor whose
/// acquisition may fail.
template <class Lock>
class [[nodiscard]] resilient_guard {
 public:
  /// Effects: as lock.lock().
  [[nodiscard]] explicit resilient_guard(
      Lock& lock, std::source_location at = std::source_location::current()) noexcept
      : lock_{&lock}, result_{lock.lock(at)} {}
  resilient_guard(resilient_guard&& other) noexcept
      : lock_{std::exchange(other.lock_, nullptr)}, result_{other.result_} {}
  resilient_guard& operator=(resilient_guard&& other) noexcept {
    resilient_guard taken{std::move(other)};
    std::swap(lock_, taken.lock_);
    std::swap(result_, taken.result_);
    return *this;
  }
  /// Effects: releases the lock if this guard holds it.
  ~resilient_guard() { unlock(std::source_location{}); }

  /// Effects: releases the lock before the guard's end; nothing if this guard does not hold it.
  void unlock(std::source_location at = std::source_location::current()) noexcept {
    if (*this) lock_->unlock(at);
    lock_ = nullptr;
  }

  /// Returns true if this guard holds the lock.
  [[nodiscard]] explicit operator bool() const noexcept {
    return lock_ != nullptr && static_cast<bool>(result_);
  }
  [[nodiscard]] lock_result result() const noexcept { return result_; }
  [[nodiscard]] std::error_code error() const noexcept { return result_.error(); }

 private:
  Lock* lock_;
  lock_result result_;
};

}  // namespace lockyard::inline v0
