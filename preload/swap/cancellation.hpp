// SPDX-License-Identifier: Apache-2.0
#pragma once

// A wait for a condition variable is a cancellation point, and the cleanup handlers of the
// cancelled thread must find the mutex held. So pthread_cancel ends the wait, as a stop does; the
// thread then acquires the mutex, and is cancelled where it returns. pthread_cancel waits for no
// thread: its caller may hold the mutex.

#include "../glibc.hpp"

#include <lockyard/spin/yielding_spinlock.hpp>

#include <mutex>

namespace lockyard::preload {

/// A thread's wait, as long as it may be cancelled.
///
/// A thread that is about to wait finds a request that came before its wait by pthread_testcancel
/// or, if the request came after that, by has_request, which the canceller sets after the request.
/// A request that was made while the thread had cancellation disabled leaves has_request set, and
/// the thread's next wait with cancellation enabled begins with a pthread_testcancel that acts.
class cancellable_wait {
 public:
  /// `end` ends the wait and returns true, unless the wait has ended.
  using ending = bool (*)(void* wait) noexcept;

  void begin(ending end, void* wait) noexcept {
    const std::lock_guard held{guard_};
    was_cancelled_ = has_request_ && end(wait);
    end_ = end;
    wait_ = wait;
  }
  void finish() noexcept {
    const std::lock_guard held{guard_};
    end_ = nullptr;
  }
  void cancel() noexcept {
    const std::lock_guard held{guard_};
    has_request_ = true;
    if (end_ != nullptr && end_(wait_)) was_cancelled_ = true;
  }
  /// Returns whether a request ended the last wait. A notified wait is not such a wait, because its
  /// thread would take the notification with it.
  [[nodiscard]] bool was_cancelled() const noexcept { return was_cancelled_; }
  void forget() noexcept { was_cancelled_ = false; }

  static cancellable_wait& of_this_thread() noexcept { return own_; }
  /// In glibc a thread's pthread_t is an address at a fixed distance from the thread's static
  /// storage. Precondition: the thread has not been joined, and if it is detached, has not ended.
  static cancellable_wait& of(pthread_t thread) noexcept {
    const auto distance = reinterpret_cast<std::uintptr_t>(&own_) - std::uintptr_t{pthread_self()};
    return *reinterpret_cast<cancellable_wait*>(std::uintptr_t{thread} + distance);
  }

 private:
  [[gnu::tls_model("initial-exec")]] static constinit thread_local cancellable_wait own_;

  yielding_spinlock guard_;
  bool has_request_ = false;
  bool was_cancelled_ = false;
  ending end_ = nullptr;
  void* wait_ = nullptr;
};
inline constinit thread_local cancellable_wait cancellable_wait::own_{};

/// Publishes a wait from the moment in which it can be ended until the thread has its lock again.
template <class End>
class published_wait {
 public:
  explicit published_wait(End end) noexcept : end_{end} {
    cancellable_wait::of_this_thread().begin(
        [](void* wait) noexcept { return static_cast<published_wait*>(wait)->end_(); }, this);
  }
  published_wait(const published_wait&) = delete;
  published_wait& operator=(const published_wait&) = delete;
  ~published_wait() { cancellable_wait::of_this_thread().finish(); }

 private:
  End end_;
};

}  // namespace lockyard::preload
