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

/// Precondition: `held` holds its mutex, which is the one that all who wait for `changed` wait
/// with.
/// Effects: keeps the mutex until the calling thread ends. When the thread's thread_local objects
/// have been destroyed, notifies all who wait for `changed`, and releases the mutex; several such
/// calls of a thread take effect in their order. In the thread that ends the process this comes
/// when what was registered by std::atexit is called; in threads that still run then it does not.
/// The notification comes before the release, so a thread that has acquired the mutex since may
/// destroy both; the standard's order is the opposite, which only a waiter could notice that began
/// to wait in between, and none can rely on that.
/// Synchronisation: what the thread did, and its thread_local objects' destructors did, happens
/// before the next acquisition of the mutex returns. Errors: throws std::bad_alloc, and
/// has released the mutex then; ends the process with a message if the C library has no key for
/// thread-specific data left.
template <std::derived_from<native> W>
void notify_all_at_thread_exit(basic_condition_variable<W>& changed,
                               std::unique_lock<basic_mutex<W>> held) {
  detail::notify_all_at_thread_exit(changed, std::move(held));
}

/// The same, with any lock.
template <std::derived_from<native> W, class Lock>
void notify_all_at_thread_exit(basic_condition_variable_any<W>& changed,
                               std::unique_lock<Lock> held) {
  detail::notify_all_at_thread_exit(changed, std::move(held));
}

}  // namespace lockyard::inline v0
