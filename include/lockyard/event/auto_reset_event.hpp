// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/timed_wait.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// An event that lets one thread through each time it is set: the oldest waiter, or, if no thread
/// waits, the next thread to arrive. docs/events explains it in detail.
///
/// Use: to hand one thing at a time to one of several threads, or to wake a certain thread. Sets do
///   not add up: two before a wait let one thread through. Where they must add up, use a semaphore.
/// Source: Windows' auto-reset event; two bits and a table of queues as in byte_mutex.
/// Guarantees: each set lets at most one thread through, in the order of their waits; no lost
///   wake-up (below). A signal handler must not use it: it may wait for a bucket lock that its own
///   thread holds. After fork the child's copy is as it was, without waiters. A thread that the
///   event has let through may destroy it if no other thread waits, though the set() that did so
///   may not have returned: after the write that lets the thread through, set() uses the bucket
///   only. Within one process.
/// Size: 1 byte. All zero bytes are an event that is not set.
///
/// | state_ | meaning |
/// |---|---|
/// | unset | a thread that arrives waits |
/// | is_set | the next thread to arrive goes on |
/// | awaited | not set, and a thread sleeps |
///
/// I1 `awaited` changes only under the bucket lock. When the bucket lock is free, it is set if and
///    only if a node of this event is linked.
/// No lost wake-up: a node is linked only while `awaited` is set. By I1 every set until the node is
/// unlinked fails its compare-exchange, takes the bucket lock, and ends the first waiter's sleep; a
/// set under the bucket lock that finds no waiter is kept for the next one. A waiter gives up under
/// the bucket lock, so that a set has either released it already, in which case it goes on, or will
/// not find it. First come, first served: while a node is linked the event is not set, so no
/// newcomer can barge, and nodes are linked in order. Lifetime: N1 to N3 of parking_lot.hpp.
/// Clients auto_reset_event*; the mutants auto_event_* hang.
template <world W = default_world>
class basic_auto_reset_event : public detail::timed_wait<basic_auto_reset_event<W>, W> {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;

 public:
  /// Begins not set, unless told otherwise.
  constexpr explicit basic_auto_reset_event(bool is_set = false) noexcept
      : state_{is_set ? set_ : unset} {}
  basic_auto_reset_event(const basic_auto_reset_event&) = delete;
  basic_auto_reset_event& operator=(const basic_auto_reset_event&) = delete;

  /// Effects: lets the oldest waiter through; if no thread waits, sets the event.
  /// Synchronisation: everything done before happens before the return of the wait that it lets
  /// through; if it sets the event, before the return of the wait that takes the event.
  /// Progress: lock-free while no thread waits; otherwise it may wait for the bucket lock, and
  /// makes one system call.
  void set() noexcept {
    std::uint8_t found = unset;
    do {
      // (state)  unset -> set,  set -> set
      // order[set]: release; pairs [take]; publishes the work that led to the event.
      // relaxed(revalidated): by the next turn, or under the bucket lock.
      if (state_.compare_exchange_weak(found, set_, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
    } while (found != awaited);
    let_first_through();
  }

  /// Effects: ends the set state of the event. Does nothing if it is not set.
  /// Synchronisation: everything done before the sets that this undoes happens before the return.
  /// Progress: wait-free.
  void reset() noexcept { static_cast<void>(try_wait()); }

  /// Effects: takes the event if it is set; returns whether it did.
  /// Synchronisation: as wait() if it returns true. Progress: wait-free.
  [[nodiscard]] bool try_wait() noexcept {
    std::uint8_t found = set_;
    // (state)  set -> unset
    // order[take]: acquire; pairs [set, keep]; the thread goes on from there.
    // relaxed(hint): a failure promises nothing.
    return state_.compare_exchange_strong(found, unset, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  /// Effects: takes the event, or sleeps until a set lets this thread through.
  /// Synchronisation: everything done before that set happens before the return.
  /// Progress: first come, first served; as the progress of the thread that sets it.
  void wait() noexcept {
    if (!try_wait()) wait_asleep();
  }

 private:
  friend detail::timed_wait<basic_auto_reset_event, W>;

  static constexpr auto kind = detail::waiter_kind::auto_reset_event;
  static constexpr std::uint8_t unset = 0, set_ = 1, awaited = 2;

  /// Lets the first waiter through. By I1 no other thread clears `awaited` meanwhile.
  [[gnu::noinline, gnu::cold]] void let_first_through() noexcept {
    bucket& home = lot::bucket_of(this);
    home.bucket_lock().lock();
    node* const first = home.first(this, kind);
    if (first == nullptr) {
      // All have given up, or are the parent's of a forked child.
      // (state)  any -> set
      // order[keep]: release; pairs [take]; as [set]; an exchange, so that earlier sets stay
      // published.
      state_.exchange(set_, std::memory_order_release);
      home.bucket_lock().unlock();
      return;
    }
    // (state)  awaited -> unset
    // relaxed(locked): the bucket lock protects it; the wake reason carries the order.
    if (bucket::length(first) == 1) state_.store(unset, std::memory_order_relaxed);
    const auto& sleeper = home.unpark(*first, wake_reason::owner);
    home.bucket_lock().unlock();
    W::wake(sleeper, 1);
  }

  bool wait_by(typename W::deadline limit) noexcept { return wait_asleep(limit); }

  /// Returns false if there is a deadline and it passed first.
  [[gnu::noinline, gnu::cold]] bool wait_asleep(typename W::deadline limit = W::never) noexcept {
    bucket& home = lot::bucket_of(this);
    node self{this, kind, {}};  // all came at the same time: in the order in which they are linked
    if (enqueue(home, self)) return true;
    const auto left = [&] {
      if (home.first(this, kind) != nullptr) return;
      // (state)  awaited -> unset
      // relaxed(locked): the bucket lock protects it.
      state_.store(unset, std::memory_order_relaxed);
    };
    return lot::sleep(home, self, left, limit) == wake_reason::owner;
  }

  /// Returns true if it took the event instead.
  bool enqueue(bucket& home, node& self) noexcept {
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    bool taken = try_wait();
    std::uint8_t found = unset;
    // (state)  unset -> awaited
    // relaxed(locked): the bucket lock protects it, and a set that finds it takes the bucket lock.
    while (!taken && !state_.compare_exchange_strong(found, awaited, std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
      if (found == awaited) break;
      taken = try_wait();
      found = unset;
    }
    if (!taken) home.link(self);
    home.bucket_lock().unlock();
    return taken;
  }

  atomic<W, std::uint8_t> state_;
};

using auto_reset_event = basic_auto_reset_event<>;

}  // namespace lockyard::inline v0
