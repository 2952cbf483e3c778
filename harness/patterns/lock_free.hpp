// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data structures without a lock, against a world: the harness measures them, and the checker
// searches the same code. Nodes belong to the user, are never freed, and come back; a tag next to
// each index prevents that an exchange succeeds after its node was removed and came back.

#include <lockyard/detail/arch.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lockyard::harness {

/// An index with the number of its changes, in one atomic word.
struct link {
  static constexpr std::uint32_t nothing = UINT32_MAX;

  std::uint32_t index = nothing;
  std::uint32_t tag = 0;

  [[nodiscard]] link changed_to(std::uint32_t next) const noexcept {
    return {.index = next, .tag = tag + 1};
  }
  bool operator==(const link&) const = default;
};
static_assert(std::atomic<link>::is_always_lock_free);

template <world W>
class lock_free_counter {
 public:
  void add() noexcept {
    // relaxed(atomicity): a count.
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Precondition: no other thread adds any longer.
  [[nodiscard]] std::uint64_t value() const noexcept {
    // relaxed(owner): no other thread is left.
    return count_.load(std::memory_order_relaxed);
  }

 private:
  alignas(detail::arch::interference_size) atomic<W, std::uint64_t> count_{0};
};

/// Treiber's stack (IBM RJ 5118, 1986).
///
/// Guarantees: a node is on the stack or belongs to the thread that took it. Progress: lock-free.
/// Tags: without them a thread reads the first node and the one below, others take both and put the
/// first one back, and the exchange of that thread puts the taken one on top. The checker's
/// seeded fault lock_free_stack_keeps_tag shows it.
template <world W>
class lock_free_stack {
 public:
  struct node {
    atomic<W, std::uint32_t> next{link::nothing};
    var<W, std::uint64_t> used{0};  ///< the content, of the thread that took the node
  };

  /// The nodes outlive the stack and are left alone; at first they all belong to the user.
  explicit lock_free_stack(std::span<node> nodes) noexcept : nodes_{nodes} {}
  lock_free_stack(const lock_free_stack&) = delete;
  lock_free_stack& operator=(const lock_free_stack&) = delete;

  /// Effects: takes the node on top; nothing if there is none.
  /// Synchronisation: what its last user did to the node happens before.
  std::optional<std::uint32_t> take() noexcept {
    // order[taken]: acquire; pairs [put]; the node's content is the last user's.
    link seen = first_.load(std::memory_order_acquire);
    while (seen.index != link::nothing) {
      // relaxed(revalidated): another thread may have taken it; then the exchange fails.
      const std::uint32_t next = nodes_[seen.index].next.load(std::memory_order_relaxed);
      // order[exchanged]: acquire; pairs [put]; the first look would do, but compilers refuse an
      // order that is weaker than the order after a failure.
      // order[taken_again]: acquire; pairs [put]; as above, for the value that the next round uses.
      if (first_.compare_exchange_strong(seen, seen.changed_to(next), std::memory_order_acquire,
                                         std::memory_order_acquire)) {
        return seen.index;
      }
    }
    return std::nullopt;
  }
  /// Effects: puts a node of the caller on top.
  void put(std::uint32_t index) noexcept {
    // relaxed(revalidated): the exchange decides.
    link seen = first_.load(std::memory_order_relaxed);
    do {
      // relaxed(unpublished): the exchange publishes it.
      nodes_[index].next.store(seen.index, std::memory_order_relaxed);
      // order[put]: release; pairs [taken, exchanged, taken_again]; publishes the node's content.
      // relaxed(revalidated): a failure only brings the value to try with.
    } while (!first_.compare_exchange_strong(seen, seen.changed_to(index),
                                             std::memory_order_release, std::memory_order_relaxed));
  }
  /// Precondition: no other thread uses the stack. Returns at most one more than there are nodes.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t linked = 0;
    // relaxed(owner): no other thread is left.
    std::uint32_t each = first_.load(std::memory_order_relaxed).index;
    while (each != link::nothing && linked <= nodes_.size()) {
      ++linked;
      // relaxed(owner): as above.
      each = nodes_[each].next.load(std::memory_order_relaxed);
    }
    return linked;
  }

 private:
  alignas(detail::arch::interference_size) atomic<W, link> first_;
  alignas(detail::arch::interference_size) std::span<node> nodes_;
};

/// Michael and Scott's queue (PODC 1996), of numbers.
///
/// Guarantees: every number that was put comes out once; first in, first out. A number that was put
/// can be taken from then on. Progress: lock-free. The node before the first number is the dummy;
/// taking a number frees the dummy, and the number's node becomes the dummy.
/// Nodes that come back: a thread in put() that has seen a tail may be so slow that its node was
/// freed and belongs to another thread, which has reset its link and has yet to put it. That link
/// looks like the end of the queue. Therefore put() looks at the tail again, and a reset
/// releases what its thread knows: that the tail has moved on. take() finds such a reset link by
/// another look at the head, for the same reason. Seeded faults: lock_free_queue_*.
template <world W>
class lock_free_queue {
 public:
  struct alignas(detail::arch::interference_size) node {
    atomic<W, link> next;
    atomic<W, std::uint64_t> number{0};
  };
  struct taken {
    std::uint32_t freed;  ///< a node, which belongs to the caller now
    std::uint64_t value;
  };

  /// The nodes outlive the queue and are left alone. Number 0 is the first dummy; the others belong
  /// to the user.
  explicit lock_free_queue(std::span<node> nodes) noexcept : nodes_{nodes} {}
  lock_free_queue(const lock_free_queue&) = delete;
  lock_free_queue& operator=(const lock_free_queue&) = delete;

  /// Effects: puts the number last, in a node of the caller.
  void put(std::uint32_t index, std::uint64_t number) noexcept {
    node& added = nodes_[index];
    // relaxed(unpublished): the exchange of the last node's link publishes it.
    added.number.store(number, std::memory_order_relaxed);
    // relaxed(owner): only a thread that finds it in the queue changes it.
    const link before = added.next.load(std::memory_order_relaxed);
    // order[reset]: release; pairs [next_seen, next_taken]; a late thread that takes it for the end
    // then sees that the tail and the head moved on. The tag makes its exchange fail.
    added.next.store(before.changed_to(link::nothing), std::memory_order_release);
    for (;;) {
      // order[tail_seen]: acquire; pairs [tail_moved]; the last node's link was reset before.
      const link last = tail_.load(std::memory_order_acquire);
      // order[next_seen]: acquire; pairs [linked, reset]; the node that follows is complete.
      link next = nodes_[last.index].next.load(std::memory_order_acquire);
      // relaxed(revalidated): if the node came back before the link was read, this is newer.
      if (tail_.load(std::memory_order_relaxed) != last) continue;
      if (next.index != link::nothing) {
        move(tail_, last, next.index);
        continue;
      }
      // order[linked]: release; pairs [next_seen, next_taken]; publishes the node.
      // relaxed(revalidated): a failure starts again.
      if (nodes_[last.index].next.compare_exchange_strong(
              next, next.changed_to(index), std::memory_order_release, std::memory_order_relaxed)) {
        move(tail_, last, index);
        return;
      }
    }
  }
  /// Effects: takes the number that was put first; nothing if there is none.
  std::optional<taken> take() noexcept {
    for (;;) {
      // order[head_seen]: acquire; pairs [tail_moved]; the first node's link was reset before.
      const link first = head_.load(std::memory_order_acquire);
      // order[tail_seen_too]: acquire; pairs [tail_moved]; as in put.
      const link last = tail_.load(std::memory_order_acquire);
      // order[next_taken]: acquire; pairs [linked, reset]; the number is the one that was put.
      const link next = nodes_[first.index].next.load(std::memory_order_acquire);
      if (next.index == link::nothing) {
        // relaxed(revalidated): if the node came back before its link was read, this is newer.
        if (head_.load(std::memory_order_relaxed) == first) return std::nullopt;
        continue;
      }
      if (first.index == last.index) {
        move(tail_, last, next.index);
        continue;
      }
      // relaxed(revalidated): another thread may have taken it; then the exchange fails.
      const std::uint64_t value = nodes_[next.index].number.load(std::memory_order_relaxed);
      if (move(head_, first, next.index)) return taken{.freed = first.index, .value = value};
    }
  }
  /// Precondition: no other thread uses the queue. Returns at most one more than there are nodes.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t linked = 0;
    // relaxed(owner): no other thread is left; also below.
    std::uint32_t each = next_of(head_.load(std::memory_order_relaxed).index);
    while (each != link::nothing && linked <= nodes_.size()) {
      ++linked;
      each = next_of(each);
    }
    return linked;
  }

 private:
  [[nodiscard]] std::uint32_t next_of(std::uint32_t index) const noexcept {
    // relaxed(owner): no other thread is left.
    return nodes_[index].next.load(std::memory_order_relaxed).index;
  }
  static bool move(atomic<W, link>& which, link from, std::uint32_t to) noexcept {
    // order[tail_moved]: release; pairs [tail_seen, tail_seen_too, head_seen]; hands on what this
    // thread has seen of the node. relaxed(revalidated): after a failure the caller looks again.
    return which.compare_exchange_strong(from, from.changed_to(to), std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  alignas(detail::arch::interference_size) atomic<W, link> head_{link{.index = 0}};
  alignas(detail::arch::interference_size) atomic<W, link> tail_{link{.index = 0}};
  alignas(detail::arch::interference_size) std::span<node> nodes_;
};

}  // namespace lockyard::harness
