// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/os/thread_end.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/native.hpp>

#include <cassert>
#include <concepts>
#include <mutex>
#include <utility>

namespace lockyard::inline v0 {

namespace detail {
template <class Condition, class Lock>
class last_notification final : public os::last_act {
 public:
  last_notification(Condition& changed, std::unique_lock<Lock>&& held) noexcept
      : changed_{changed}, held_{std::move(held)} {}

 private:
  void perform() noexcept override {
    changed_.notify_all();
    delete this;
  }

  Condition& changed_;
  std::unique_lock<Lock> held_;
};

template <class Condition, class Lock>
void notify_all_at_thread_exit(Condition& changed, std::unique_lock<Lock>&& held) {
  assert(held.owns_lock() && "notify_all_at_thread_exit: the lock is not held");
  (new last_notification<Condition, Lock>{changed, std::move(held)})->schedule();
}
}  // namespace detail

/// Precondition: `held` holds its mutex, with which all waiters of `changed` wait.
/// Effects: keeps the mutex until the calling thread ends. When the thread's thread_local objects
/// have been destroyed, notifies all threads that wait for `changed`, and releases the mutex;
/// several such calls of a thread take effect in their order. In the thread that ends the process
/// this happens when functions registered by std::atexit are called; in threads that still run then
/// it does not happen. The notification comes before the release, so a thread that has acquired the
/// mutex since may destroy both; the standard's order is the opposite, and only a waiter that began
/// to wait in between could notice the difference, on which no waiter can rely.
/// Synchronisation: everything that the thread and the destructors of its thread_local objects did
/// happens before the next acquisition of the mutex returns. Errors: throws std::bad_alloc, and has
/// released the mutex then; ends the process with a message if the C library has no key for
/// thread-specific data left.
template <std::derived_from<native> W>
void notify_all_at_thread_exit(basic_condition_variable<W>& changed,
                               std::unique_lock<basic_mutex<W>> held) {
  detail::notify_all_at_thread_exit(changed, std::move(held));
}

/// Does the same with any lock.
template <std::derived_from<native> W, class Lock>
void notify_all_at_thread_exit(basic_condition_variable_any<W>& changed,
                               std::unique_lock<Lock> held) {
  detail::notify_all_at_thread_exit(changed, std::move(held));
}

}  // namespace lockyard::inline v0
