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
/// Only `state` is shared; all other members belong to the thread that has the queue to itself.
template <world W, bool HasTurns>
class alignas(16) fair_waiter {
 public:
  // The state, and the news for the waiter.
  static constexpr std::uint32_t watching = 0, asleep = 1, called = 2, granted = 3;

  atomic<W, std::uint32_t> state{asleep};
  /// The mutex counts on this waiter.
  var<W, bool> attends{false};

  [[nodiscard]] bool is_linked() const noexcept { return next_.read() != nullptr; }
  /// Precondition: the node is the first of its queue.
  [[nodiscard]] std::chrono::nanoseconds length_of_turn() const noexcept {
    return W::now() - first_since_.read();
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
  void begin_turn() noexcept {
    if constexpr (HasTurns) first_since_.write(W::now());
  }

  var<W, fair_waiter*> next_{nullptr};  ///< null out of the queue
  var<W, fair_waiter*> prev_{nullptr};
  var<W, typename W::time_point> first_since_{};
};

}  // namespace lockyard::inline v0::detail
