// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/timed_wait.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// An event that lets one thread through each time it is set: the one that has waited longest, or,
/// if nobody waits, the next that comes. docs/events tells it at length.
///
/// Use: to hand one thing at a time to one of several threads, or to wake a certain thread. Sets do
///   not add up: two before a wait let one thread through. Where they must, a semaphore.
/// Source: Windows' auto-reset event; two bits and a table of queues as in byte_mutex.
/// Guarantees: each set lets at most one thread through, in the order of their waits; no lost
///   wake-up (below). A signal handler must not use it: it may wait for a guard that its own thread
///   holds. After fork the child's copy is as it was, and nobody waits. May be destroyed by the
///   thread that it has let through if nobody else waits, though the set() that did so may not have
///   returned: after the write that lets it through, that one uses the bucket only. Within one
///   process.
/// Size: 1 byte. All zero bytes are an event that is not set.
///
/// | state_ | meaning |
/// |---|---|
/// | unset | who comes waits |
/// | is_set | who comes next goes on |
/// | awaited | not set, and somebody sleeps |
///
/// I1 `awaited` comes and goes only under the bucket's guard. When the guard is free, it stands if
///    and only if a node of this event is linked.
/// No lost wake-up: a node is linked only while `awaited` stands. By I1 every set until the node is
/// unlinked fails its compare-exchange, takes the guard, and ends the sleep of the first one; a set
/// under the guard that finds nobody is kept for the next. Who gives up does so under the guard, so
/// that a set has either told it already, in which case it goes on, or will not find it. First
/// come, first served: while a node is linked the event is not set, so nobody who comes can
/// overtake, and nodes are linked in order. Lifetime: N1 to N3 of parking_lot.hpp. Clients
/// auto_reset_event*; the mutants auto_event_* hang.
template <world W = default_world>
class basic_auto_reset_event : public detail::timed_wait<basic_auto_reset_event<W>, W> {
  using lot = detail::parking_lot<typename W::unwatched>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using fate = typename lot::fate;

 public:
  /// Not set, unless told otherwise.
  constexpr explicit basic_auto_reset_event(bool is_set = false) noexcept
      : state_{is_set ? set_ : unset} {}
  basic_auto_reset_event(const basic_auto_reset_event&) = delete;
  basic_auto_reset_event& operator=(const basic_auto_reset_event&) = delete;

  /// Effects: lets the thread through that has waited longest; if nobody waits, sets the event.
  /// Synchronisation: what was done before happens before the return of the wait that it lets
  /// through; of a set event, before that of the wait that takes it.
  /// Progress: lock-free while nobody waits; else it may wait for the bucket's guard, and makes one
  /// system call.
  void set() noexcept {
    std::uint8_t found = unset;
    do {
      // (state)  unset -> set,  set -> set
      // order[set]: release; pairs [take]; publishes what led to the event.
      // relaxed(revalidated): by the next turn, or under the guard.
      if (state_.compare_exchange_weak(found, set_, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
    } while (found != awaited);
    let_first_through();
  }

  /// Effects: the event is not set any more. Nothing if it is not.
  /// Synchronisation: what was done before sets that this undoes happens before the return.
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
  /// Synchronisation: what was done before that set happens before the return.
  /// Progress: first come, first served; as that of whoever sets it.
  void wait() noexcept {
    if (!try_wait()) wait_asleep();
  }

 private:
  friend detail::timed_wait<basic_auto_reset_event, W>;

  static constexpr auto kind = detail::waiter_kind::auto_reset_event;
  static constexpr std::uint8_t unset = 0, set_ = 1, awaited = 2;

  /// By I1 nobody else takes `awaited` away meanwhile.
  [[gnu::noinline, gnu::cold]] void let_first_through() noexcept {
    bucket& home = lot::bucket_of(this);
    home.guard().lock();
    node* const first = home.first(this, kind);
    if (first == nullptr) {
      // All have given up, or are the parent's of a forked child.
      // (state)  any -> set
      // order[keep]: release; pairs [take]; as [set]; an exchange, so that earlier sets stay
      // published.
      state_.exchange(set_, std::memory_order_release);
      home.guard().unlock();
      return;
    }
    // (state)  awaited -> unset
    // relaxed(locked): the guard protects it; the node's fate carries what the waiter needs.
    if (bucket::length(first) == 1) state_.store(unset, std::memory_order_relaxed);
    const auto& sleeper = home.release(*first, fate::owner);
    home.guard().unlock();
    W::wake(sleeper, 1);
  }

  bool wait_by(typename W::deadline limit) noexcept { return wait_asleep(limit); }

  /// False if there is a deadline and it passed first.
  template <class... Deadline>
  [[gnu::noinline, gnu::cold]] bool wait_asleep(Deadline... limit) noexcept {
    bucket& home = lot::bucket_of(this);
    node self{this, kind, {}};  // all came at the same time: in the order in which they are linked
    if (get_in_line(home, self)) return true;
    const auto left = [&] {
      if (home.first(this, kind) != nullptr) return;
      // (state)  awaited -> unset
      // relaxed(locked): the guard protects it.
      state_.store(unset, std::memory_order_relaxed);
    };
    return lot::sleep(home, self, left, limit...) == fate::owner;
  }

  /// True if the event was taken instead.
  bool get_in_line(bucket& home, node& self) noexcept {
    self.falls_asleep();
    home.guard().lock();
    bool taken = try_wait();
    std::uint8_t found = unset;
    // (state)  unset -> awaited
    // relaxed(locked): the guard protects it, and a set that finds it comes by the guard.
    while (!taken && !state_.compare_exchange_strong(found, awaited, std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
      if (found == awaited) break;
      taken = try_wait();
      found = unset;
    }
    if (!taken) home.link(self);
    home.guard().unlock();
    return taken;
  }

  typename W::template atomic<std::uint8_t> state_;
};

using auto_reset_event = basic_auto_reset_event<>;

}  // namespace lockyard::inline v0
