// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// A waiter of basic_fair_mutex: a node on the stack of the thread that waits. The nodes of a queue
/// form a ring, and a queue is the pointer to its first node. Where `HasTurns`, the node that
/// becomes the first of its queue notes the time.
///
/// Only state_ is shared, and it carries the handoff; a thread uses everything else while it has
/// the queue to itself. fair_mutex.hpp has the invariants and the arguments.
template <world W, bool HasTurns>
class alignas(16) fair_waiter {
 public:
  // The state of a waiter, and the news for it.
  static constexpr std::uint32_t watching = 0, asleep = 1, unparked = 2, granted = 3;

  // The thread that waits

  /// Spins if told to, then sleeps. Returns unparked, granted, or, past the deadline, asleep.
  std::uint32_t await_news(bool spins, typename W::deadline limit) noexcept {
    if (spins) {
      const auto is_news = [](std::uint32_t state) { return state != watching; };
      // order[watched]: acquire; pairs [grant]; the critical section starts after the last.
      const auto news = W::await(state_, is_news, std::memory_order_acquire,
                                 wait_policies::pausing{}, W::spin_limit());
      if (news) return *news;
      // (state)  watching -> asleep;  granted is overwritten, because no thread reads it again.
      // order[falling_asleep]: acquire; pairs [grant]; as in [watched], if the grant came first.
      const std::uint32_t state = state_.exchange(asleep, std::memory_order_acquire);
      if (state != watching) return state;
    }
    for (;;) {
      const bool late = W::wait(state_, asleep, limit) == W::wait_result::timed_out;
      // order[woken]: acquire; pairs [grant]; as in [watched].
      const std::uint32_t state = state_.load(std::memory_order_acquire);
      if (state != asleep || late) return state;
    }
  }
  /// For a waiter that another thread has taken out of the queue, and is about to grant.
  void await_grant() noexcept {
    const auto is_granted = [](std::uint32_t state) { return state == granted; };
    // order[chosen]: acquire; pairs [grant]; as in [watched].
    W::await(state_, is_granted, std::memory_order_acquire,
             wait_policies::pausing_then_yielding<64>{});
  }

  // All functions below need the queue.

  [[nodiscard]] bool is_linked() const noexcept { return next_.read() != nullptr; }
  /// Whether unlock relies on this waiter.
  [[nodiscard]] bool is_active() const noexcept { return is_active_.read(); }
  /// Whether this waiter has said that it is awake.
  [[nodiscard]] bool is_awake() const noexcept {
    // relaxed(hint): a wrong value costs time.
    return state_.load(std::memory_order_relaxed) == watching;
  }
  /// Records that the calling thread, whose node this is, is awake.
  void watch() noexcept { put(watching); }
  /// Records that the calling thread, whose node this is, sleeps; unlock no longer relies on it.
  void fall_asleep() noexcept {
    is_active_.write(false);
    put(asleep);
  }
  /// Whether this waiter is being woken, and no thread has left it its processor.
  [[nodiscard]] bool needs_room() const noexcept {
    return is_active() && !is_awake() && !has_room_.read();
  }
  void give_room() noexcept { has_room_.write(true); }
  /// Notes when the turn of the first of the queue begins.
  void begin_turn() noexcept {
    if constexpr (HasTurns) first_since_.write(W::now());
  }
  /// Precondition: the node is the first of its queue.
  [[nodiscard]] std::chrono::nanoseconds length_of_turn() const noexcept {
    return W::now() - first_since_.read();
  }

  /// Ends the sleep of the first waiter, which is the active waiter from now on. Returns the
  /// argument for wake(), which the caller calls when it has given up the queue.
  [[nodiscard]] const atomic<W, std::uint32_t>* unpark() noexcept {
    is_active_.write(true);
    // (state)  asleep -> unparked
    // relaxed(locked): an unparked waiter looks at the mutex, which carries the order.
    return state_.exchange(unparked, std::memory_order_relaxed) == asleep ? &state_ : nullptr;
  }
  /// Wakes the sleeper by its address, if there is one; its node may be gone.
  static void wake(const atomic<W, std::uint32_t>* sleeper) noexcept {
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }
  /// Hands the mutex to a waiter that the caller has taken out of the queue. Does not need the
  /// queue any longer.
  void grant() noexcept {
    // (state)  watching, asleep -> granted
    // order[grant]: release; pairs [watched, falling_asleep, woken, chosen]; publishes the
    // critical section.
    if (state_.exchange(granted, std::memory_order_release) == asleep) W::wake(state_, 1);
  }

  /// Puts `self` at the end of the queue; returns the first node.
  static fair_waiter* append(fair_waiter* head, fair_waiter& self) noexcept {
    if (head == nullptr) {
      head = &self;
      self.begin_turn();
    }
    fair_waiter* const last = head == &self ? &self : head->prev_.read();
    self.next_.write(head);
    self.prev_.write(last);
    last->next_.write(&self);
    head->prev_.write(&self);
    return head;
  }

  /// Takes `self` out, wherever it stands; returns the first of the remaining nodes, or null.
  static fair_waiter* remove(fair_waiter* head, fair_waiter& self) noexcept {
    fair_waiter* const next = self.next_.read();
    self.next_.write(nullptr);
    if (next == &self) return nullptr;
    self.prev_.read()->next_.write(next);
    next->prev_.write(self.prev_.read());
    if (head != &self) return head;
    next->begin_turn();
    return next;
  }

 private:
  void put(std::uint32_t state) noexcept {
    // relaxed(locked): another thread unparks or grants while it has the queue, or later.
    state_.store(state, std::memory_order_relaxed);
  }

  atomic<W, std::uint32_t> state_{asleep};
  var<W, bool> is_active_{false};
  var<W, bool> has_room_{false};
  var<W, fair_waiter*> next_{nullptr};  ///< null out of the queue
  var<W, fair_waiter*> prev_{nullptr};
  var<W, typename W::time_point> first_since_{};
};

}  // namespace lockyard::inline v0::detail
