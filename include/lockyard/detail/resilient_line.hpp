// SPDX-License-Identifier: Apache-2.0
#pragma once

// The queue of the waiters of a resilient lock. A watch (stall_watch.hpp) decides why a wait ends
// without the lock; this file implements how it ends.

#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/line_bits.hpp>
#include <lockyard/detail/queue_nodes.hpp>
#include <lockyard/detail/queued_word.hpp>
#include <lockyard/detail/resilient_word.hpp>
#include <lockyard/detail/stall_watch.hpp>
#include <lockyard/resilient/lock_result.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0::detail {

/// A queued spinlock whose waiters may leave at any time, wherever they stand.
///
/// I1 A thread that sets `pending`, and keeps it, found neither `pending` nor a tail. Where the
///    lock is not open, the word is acquired only if no thread waits, by the pending waiter, or by
///    the head while no thread is pending.
/// I2 There is one head's place: a thread has it, or it is in a granted node whose waiter has not
///    seen the grant yet, or in a passed node behind which no thread has linked its node yet.
/// I3 Only pass() hands the place on, so a thread that leaves the place has closed the queue (tail
///    0) or has handed the place on. No thread ever waits for a link: a thread that passes the
///    place while the next waiter is about to link leaves the place in its own node, where that
///    waiter finds it.
/// I4 Granting and cancelling are read-modify-writes of one node, so each of the two sides knows
///    which came first: a cancelled node is passed over, and a granted node cannot be cancelled any
///    longer.
/// Lifetime: nodes are never deallocated. A node is released (set to 0) when no thread can have its
/// number: by the thread that closes the queue at the node, by the thread that passes over it once
/// a node is linked behind it, or by the thread that has linked behind it and found it passed.
/// No lost wake-up: a sleeper on the word has set `asleep` in the same value that it sleeps on, and
/// the release clears `asleep` in one step. A sleeper on a node has set `parked` in the same way,
/// and the grant finds it. unlock wakes by the address alone. docs/locks/resilient.md has these
/// arguments in full.
template <world W, line_form Form>
class resilient_line : public resilient_word<W, Form>, private line_bits {
 public:
  static constexpr std::uint32_t levels = W::slot_count > 64 ? 8 : 2;
  using nodes = queue_nodes<unwatched<W>, std::uint32_t, levels>;

  /// Waits for the lock, after `take` and `barge` have failed. Returns `acquired`, or the reason
  /// of the failure; after a failure the caller is in no queue any longer.
  template <class Watch>
  lock_errc acquire_contended(std::uint32_t found, Watch& watch) noexcept {
    if (claim_pending(found)) return acquire_as_pending(watch);
    const std::uint32_t self = nodes::claim(in_use);
    if (self == nodes::none) {
      return watch.is_nested_too_deep() ? lock_errc::nested_busy : acquire_without_node(watch);
    }
    if (!enqueue(found, self)) {
      const lock_errc how = await_grant(self, watch);
      if (how != lock_errc::acquired) return how;
    }
    watch.advance();
    return acquire_as_head(self, watch);
  }

 private:
  using policy = wait_policies::pausing_then_yielding<16>;
  using resilient_word<W, Form>::parks;
  using resilient_word<W, Form>::word_;
  static_assert(nodes::last < one_in_tail);
  /// How much the next waiter tolerates before it stops barging. A wake-up without success, and an
  /// attempt to acquire that came too late, count `missed`. A sleep that ended at its time limit
  /// counts one; a long hold or a preempted owner causes one such sleep per millisecond.
  static constexpr unsigned most_borne = 16;
  static constexpr unsigned missed = 2;

  /// If it fails, `found` is a guess at the word.
  bool claim_pending(std::uint32_t& found) noexcept {
    if (is_waited_for(found)) return false;
    // (tail,pending,owned)  t,p,o -> t,1,o
    // relaxed(revalidated): the wait reads the word again, even where the owner is gone.
    found = word_.fetch_or(pending, std::memory_order_relaxed);
    if (!is_waited_for(found)) return true;
    if ((found & pending) == 0) give_up_pending();
    return false;
  }

  /// Clears `pending`. The head waits for that, too, and may be asleep by now.
  void give_up_pending() noexcept {
    // relaxed(revalidated): the exchange decides.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    // (tail,pending,owned)  t,1,o -> t,0,o
    // relaxed(atomicity): takes back a claim under which nothing was done.
    while (!word_.compare_exchange_weak(found, left_without(found, pending),
                                        std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
    if (parks && (found & asleep) != 0) W::wake(word_, 1);
  }
  template <class Watch>
  lock_errc acquire_as_pending(Watch& watch) noexcept {
    unsigned borne = 0;
    for (;;) {
      std::uint32_t found = 0;
      const lock_errc how = await_free(owned, found, watch, in_line::pending, borne);
      if (how != lock_errc::acquired) return give_up_pending(), how;
      // (tail,pending,owned)  t,1,0 -> t,0,1
      // order[own_pending]: acquire; pairs [resilient_word.hpp:unlock,
      // resilient_word.hpp:unlock_waited]; another thread may have barged since the wait, and left
      // the word unchanged. relaxed(revalidated): after a failure the thread waits again.
      if (word_.compare_exchange_strong(found, found - pending + owned, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return lock_errc::acquired;
      }
      if constexpr (parks) bear(borne);
    }
  }

  /// Sets the tail; returns the word before. `found` is a guess at it.
  std::uint32_t set_tail(std::uint32_t found, std::uint32_t self) noexcept {
    if constexpr (!parks) return append_to_queue<W>(word_, found, self);
    // relaxed(revalidated): the exchange decides.
    found = word_.load(std::memory_order_relaxed);
    // A sleeper waits for a change of the word that it has seen, so an exchange that shows an owner
    // for a moment would send waiters to sleep without need.
    // (tail,pending,owned)  t,p,o -> self,p,o
    // order[enqueue]: acq_rel; pairs [enqueue]; a link adds to the claim of the node ahead,
    // and is not overwritten by the zero that ended that node's last use.
    // relaxed(revalidated): the next iteration compares the value found.
    while (!word_.compare_exchange_strong(found, found % one_in_tail + self * one_in_tail,
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return found;
  }

  /// Appends the node. Returns true if no waiter is ahead: then the caller has the head's place.
  bool enqueue(std::uint32_t found, std::uint32_t self) noexcept {
    const std::uint32_t ahead = set_tail(found, self) / one_in_tail;
    if (ahead == 0) return true;
    // order[link]: release; pairs [pass]; a thread that passes to this node finds it claimed.
    const std::uint32_t node =
        nodes::of(ahead).fetch_add(self * one_in_next, std::memory_order_release);
    if ((node & passed) == 0) return false;
    release_node(ahead);
    return true;
  }

  /// Waits until the caller has the head's place, and returns `acquired` then. After any other
  /// result the node belongs to other threads.
  template <class Watch>
  lock_errc await_grant(std::uint32_t self, Watch& watch) noexcept {
    auto& node = nodes::of(self);
    const auto is_told = [](std::uint32_t word) noexcept { return (word & granted) != 0; };
    for (;;) {
      std::uint32_t told = 0;
      if (const auto found = watch.await(node, is_told, policy{}, parks)) {
        told = *found;
      } else if (const lock_errc why = watch.look(in_line::queued); why != lock_errc::acquired) {
        // relaxed(atomicity): I4: the cancellation and the check for a grant are one step.
        told = node.fetch_or(cancelled, std::memory_order_relaxed);
        if (!is_told(told)) return why;
      } else {
        if constexpr (parks) park(node, watch);
        continue;
      }
      if ((told & expired) == 0) return lock_errc::acquired;
      pass(self, granted | expired);
      watch.expire();
      return lock_errc::timed_out;
    }
  }

  template <class Watch>
  void park(typename nodes::node& node, Watch& watch) noexcept {
    // relaxed(revalidated): a thread that finds the grant reads the node again.
    const std::uint32_t found = node.fetch_or(parked, std::memory_order_relaxed);
    if ((found & granted) == 0) watch.sleep(node, found | parked, in_line::queued);
  }

  template <class Watch>
  lock_errc acquire_as_head(std::uint32_t self, Watch& watch) noexcept {
    for (unsigned borne = 0;;) {
      std::uint32_t found = 0;
      const lock_errc how = await_free(owned | pending, found, watch, in_line::head, borne);
      if (how != lock_errc::acquired) {
        // The waiters behind leave, too, if the lock stalls; a deadlock of the caller's alone is no
        // reason for that.
        pass(self, watch.has_stalled() ? granted | expired : granted);
        return how;
      }
      const bool is_last = found / one_in_tail == self;
      if (!parks && !is_last) {
        if (!own_before_next()) continue;
        pass(self, granted);
        return lock_errc::acquired;
      }
      // (tail,pending,owned)  self,0,0 -> 0,0,1  or  t,0,0 -> t,0,1
      // order[own_head]: acquire; pairs [resilient_word.hpp:unlock,
      // resilient_word.hpp:unlock_waited]; as in acquire_as_pending(). relaxed(revalidated): after
      // a failure the thread waits again.
      if (!word_.compare_exchange_strong(found, is_last ? owned : (found & ~asleep) | owned,
                                         std::memory_order_acquire, std::memory_order_relaxed)) {
        if constexpr (parks) bear(borne);
        continue;
      }
      is_last ? release_node(self) : pass(self, granted);
      return lock_errc::acquired;
    }
  }

  /// Acquires the lock for the head, which has waiters behind it. Returns false if the word shows
  /// an owner by now, which only an exchange can have set.
  bool own_before_next() noexcept {
    // (tail,pending,owned)  t,p,0 -> t,p,1
    // order[own_before_next]: acquire; pairs [resilient_word.hpp:unlock]; as in [own_head], but a
    // thread that enqueues does not make it fail.
    return (word_.fetch_or(owned, std::memory_order_acquire) & owned) == 0;
  }

  /// Hands the head's place on from a node that has no other use left: to the first waiter behind
  /// it that has not cancelled. If there is none, closes the queue.
  void pass(std::uint32_t from, std::uint32_t signal) noexcept {
    for (;;) {
      if (close(from)) return release_node(from);
      // order[pass]: acquire; pairs [link]; the claim of the node behind comes before its grant.
      const std::uint32_t node = nodes::of(from).fetch_or(passed, std::memory_order_acquire);
      const std::uint32_t next = node / one_in_next;
      if (next == 0) return;
      release_node(from);
      if constexpr (parks) keep_open_for(next);
      // relaxed(atomicity): I4, as for the cancellation.
      const std::uint32_t behind = nodes::of(next).fetch_or(signal, std::memory_order_relaxed);
      if ((behind & cancelled) == 0) {
        if ((behind & parked) != 0) W::wake(nodes::of(next), 1);
        return;
      }
      from = next;
    }
  }

  /// Lets newcomers barge while the next waiter, which is parked, wakes up.
  void keep_open_for(std::uint32_t next) noexcept {
    // relaxed(hint): a waiter that parks later keeps the lock open itself; so does a pending
    // waiter.
    if ((nodes::of(next).load(std::memory_order_relaxed) & parked) == 0 ||
        (word_.load(std::memory_order_relaxed) & pending) != 0) {
      return;
    }
    // relaxed(atomicity): a permission, cleared when no thread waits; the node is still queued.
    word_.fetch_or(open, std::memory_order_relaxed);
  }

  /// Closes the queue if the node is its last one; returns whether it did.
  bool close(std::uint32_t last) noexcept {
    // relaxed(revalidated): the exchange decides.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while (found / one_in_tail == last) {
      // (tail,pending,owned)  last,p,o -> 0,p,o
      // relaxed(atomicity): only numbers change; no thread uses a node once it is free.
      if (word_.compare_exchange_strong(found, left_without(found, last * one_in_tail),
                                        std::memory_order_relaxed, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  static void release_node(std::uint32_t number) noexcept {
    // relaxed(atomicity): the node's thread claims it by a read-modify-write of this zero.
    nodes::of(number).store(0, std::memory_order_relaxed);
  }

  template <class Watch>
  lock_errc acquire_without_node(Watch& watch) noexcept {
    for (;;) {
      auto seen = watch.await(word_, &is_unwanted, policy{}, false);
      if (seen && this->take(*seen)) return lock_errc::acquired;
      if (const lock_errc why = watch.look(in_line::nodeless); why != lock_errc::acquired)
        return why;
    }
  }

  void bear(unsigned& borne) noexcept {
    // relaxed(atomicity): revokes a permission.
    if ((borne += missed) > most_borne) word_.fetch_and(~open, std::memory_order_relaxed);
  }

  /// Waits in front of the queue, on the word, until none of `bits` is set; stores the word in
  /// `found`.
  template <class Watch>
  lock_errc await_free(std::uint32_t bits, std::uint32_t& found, Watch& watch, in_line where,
                       unsigned& borne) noexcept {
    const auto is_free = [bits](std::uint32_t word) noexcept { return (word & bits) == 0; };
    for (;;) {
      if (const auto seen = watch.await(word_, is_free, policy{}, parks)) {
        found = *seen;
        return lock_errc::acquired;
      }
      if (const lock_errc why = watch.look(where); why != lock_errc::acquired) return why;
      if constexpr (parks) sleep_in_front(bits, borne, watch, where);
    }
  }

  template <class Watch>
  void sleep_in_front(std::uint32_t bits, unsigned& borne, Watch& watch, in_line where) noexcept {
    // relaxed(revalidated): the exchange decides.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & bits) != 0) {
      const std::uint32_t opened = borne < most_borne ? found | open : found & ~open;
      const std::uint32_t wanted = opened | asleep;
      // relaxed(atomicity): a request to the owner, which finds it in the step that releases.
      if (wanted == found || word_.compare_exchange_strong(found, wanted, std::memory_order_relaxed,
                                                           std::memory_order_relaxed)) {
        borne += watch.sleep(word_, wanted, where) ? missed : 1;
        return;
      }
    }
  }
};

}  // namespace lockyard::inline v0::detail
