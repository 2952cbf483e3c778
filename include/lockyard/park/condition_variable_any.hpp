// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/concepts.hpp>
#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/condition_waits.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A condition variable for any lock. docs/locks/condition_variable_any.md explains it in detail.
///
/// Use: with locks other than `mutex`, or several locks at a time. All notified threads wake and
///   contend for their lock; with `mutex`, condition_variable has them come one by one.
/// Source: a queue in the parking lot; the interface is the standard's.
/// Guarantees: no lost wake-up (below). Notifications go to waiters in the order of their waits. A
///   signal handler must not use it. After fork the child's copy has no waiters. May be destroyed
///   when all waiters have been notified, though some may not have returned. Within one process.
/// Size: 1 byte. All zero bytes are a condition variable without waiters.
///
/// | is_awaited_ | meaning |
/// |---|---|
/// | false | no thread waits |
/// | true | a thread may wait |
///
/// I1 is_awaited_ changes only under the bucket lock. When the bucket lock is free it is true while
///    a node of this condition variable is linked.
/// No lost wake-up: a thread is linked before it releases the lock. If it has released the lock
/// before the notifier acquired it to change the condition, then by I1 the notifier sees
/// is_awaited_, takes the bucket lock, and finds the node or one that has waited longer. A waiter
/// gives up under the bucket lock, and was notified if its node is no longer linked.
/// Lifetime: N1 to N3 of parking_lot.hpp. A notifier touches the condition variable for the last
/// time before it releases the last waiter, and a notified waiter touches its lock only. A stop
/// asks its own waiter's node whether that waiter waits, and never looks waiters up by the address.
/// Clients condition_any*; the mutants condition_any_* hang, or use freed memory.
template <world W = default_world>
class basic_condition_variable_any
    : public detail::condition_waits<basic_condition_variable_any<W>, W> {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;

 public:
  constexpr basic_condition_variable_any() noexcept = default;
  basic_condition_variable_any(const basic_condition_variable_any&) = delete;
  basic_condition_variable_any& operator=(const basic_condition_variable_any&) = delete;

  /// Waits call the members of a class that derives from std::unique_lock.
  static constexpr bool takes_derived_locks = true;

  // wait, wait_for, wait_until: see condition_waits. A lock is any type with lock() and unlock(),
  // and each waiter may use its own. If they throw, std::terminate is called.

  /// Effects: ends the wait of the oldest waiter, which returns when it has its lock. The caller
  /// may hold the lock, and need not.
  /// Synchronisation: none; the lock provides it.
  /// Progress: wait-free while no thread waits; otherwise it may wait for the bucket lock, and
  /// makes one system call.
  void notify_one() noexcept {
    if (is_awaited()) [[unlikely]]
      wake_up_to(1);
  }

  /// Effects: the same for all threads that wait when the call begins; some that begin later may
  /// return, too. Progress: the same, and a system call for each, with no bucket lock held.
  void notify_all() noexcept {
    if (is_awaited()) [[unlikely]]
      wake_up_to(UINT32_MAX);
  }

 protected:
  friend detail::condition_waits<basic_condition_variable_any, W>;

  template <basic_lockable Lock, class Watch>
  bool wait_once(Lock& lock, Watch watch,
                 typename W::deadline limit = W::never) noexcept LOCKYARD_UNCHECKED {
    bucket& home = lot::bucket_of(this);
    node self{this, kind, {}};  // all came at the same time: in the order in which they are linked
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    set_awaited(true);
    home.link(self);
    home.bucket_lock().unlock();
    lock.unlock();
    [[maybe_unused]] const auto watched = watch([&]() noexcept { return end(home, self); });
    const auto left = [&] {
      self.mark_awake();
      note_who_is_left(home);
    };
    const wake_reason reason = lot::sleep(home, self, left, limit);
    lock.lock();
    return reason != wake_reason::none;
  }

 private:
  static constexpr auto kind = detail::waiter_kind::any_condition;

  [[nodiscard]] bool is_awaited() const noexcept {
    // Stale or not: a waiter that this load must see released the lock before the caller acquired
    // it.
    // order[awaited]: acquire; pairs [left]; a thread that destroys the condition variable after
    // this load, with no waiter left to notify, comes after a stop's last touch.
    return is_awaited_.load(std::memory_order_acquire);
  }
  /// Under the bucket lock.
  void set_awaited(bool is_awaited) noexcept {
    // relaxed(locked): the bucket lock protects it.
    is_awaited_.store(is_awaited, std::memory_order_relaxed);
  }

  /// Under the bucket lock.
  void note_who_is_left(const bucket& home) noexcept {
    // order[left]: release; pairs [awaited]; the last touch, for a thread without the bucket lock.
    if (home.first(this, kind) == nullptr) is_awaited_.store(false, std::memory_order_release);
  }

  /// Ends one wait alone, for a stop. Returns false if the wait has ended already.
  bool end(bucket& home, node& waits) noexcept {
    const typename lot::sleeping_word* sleeper = nullptr;
    home.bucket_lock().lock();
    if (home.is_linked(waits)) {
      sleeper = &home.unpark(waits, wake_reason::retry);
      note_who_is_left(home);
    }
    home.bucket_lock().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
    return sleeper != nullptr;
  }

  [[gnu::noinline, gnu::cold]] void wake_up_to(std::uint32_t most) noexcept {
    lot::wake_up_to(most, this, kind, [this](bool is_last) {
      // The last waiter may destroy the condition variable as soon as it is released.
      if (is_last) set_awaited(false);
    });
  }

  atomic<W, bool> is_awaited_{false};
};

using condition_variable_any = basic_condition_variable_any<>;

}  // namespace lockyard::inline v0
