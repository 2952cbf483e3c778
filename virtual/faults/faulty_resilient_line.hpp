// SPDX-License-Identifier: Apache-2.0
#pragma once

// The line of a resilient lock with a rule left out.

#include <lockyard/detail/line_bits.hpp>
#include <lockyard/detail/queue_nodes.hpp>
#include <lockyard/detail/stall_watch.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::checker {

enum class line_fault : std::uint8_t {
  none,
  lone_head_waits,   ///< a head that leaves waits for a successor, who may never come
  stores_tail,       ///< closes the queue without looking who came meanwhile
  keeps_place,       ///< a head that leaves tells no other thread
  grants_cancelled,  ///< as if its waiter were there
  cancels_late,      ///< leaves although the place was granted meanwhile
  keeps_pending,     ///< a pending waiter that leaves
  frees_unlinked,    ///< frees a node that another thread is about to link to
  keeps_expiry,      ///< one that is told to leave does not tell the next one
  passes_before,     ///< tells the next one before it owns the lock
};

/// resilient_line whose waiters spin, with one fault.
template <world W, line_fault Fault>
class faulty_resilient_line : private lockyard::detail::line_bits {
 public:
  using nodes = lockyard::detail::queue_nodes<W, std::uint32_t, 2>;
  using in_line = lockyard::detail::in_line;

  bool take(std::uint32_t& found) noexcept {
    return word_.compare_exchange_strong(found, owned, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void release() noexcept { word_.fetch_sub(owned, std::memory_order_release); }

  static bool barge() noexcept { return false; }

  template <class Watch>
  lock_errc acquire_contended(std::uint32_t found, Watch& watch) noexcept {
    if (claim_pending(found)) return acquire_as_pending(watch);
    const std::uint32_t self = nodes::claim(in_use);
    if (!enqueue(self)) {
      const lock_errc how = await_grant(self, watch);
      if (how != lock_errc::acquired) return how;
    }
    return acquire_as_head(self, watch);
  }

 private:
  using policy = wait_policies::busy;
  bool claim_pending(std::uint32_t found) noexcept {
    if (found >= pending) return false;
    found = word_.fetch_or(pending, std::memory_order_relaxed);
    if (found < pending) return true;
    if ((found & pending) != 0) return false;
    word_.fetch_and(~pending, std::memory_order_relaxed);
    return false;
  }

  template <class Watch>
  lock_errc acquire_as_pending(Watch& watch) noexcept {
    const lock_errc how = await_free(owned, watch, in_line::pending);
    if (how == lock_errc::acquired) {
      word_.fetch_sub(pending - owned, std::memory_order_acquire);
    } else if (Fault != line_fault::keeps_pending) {
      word_.fetch_and(~pending, std::memory_order_relaxed);
    }
    return how;
  }

  bool enqueue(std::uint32_t self) noexcept {
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_strong(found, found % one_in_tail + self * one_in_tail,
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    const std::uint32_t ahead = found / one_in_tail;
    if (ahead == 0) return true;
    const std::uint32_t node =
        nodes::of(ahead).fetch_add(self * one_in_next, std::memory_order_acq_rel);
    if ((node & passed) == 0) return false;
    release_node(ahead);
    return true;
  }

  template <class Watch>
  lock_errc await_grant(std::uint32_t self, Watch& watch) noexcept {
    auto& node = nodes::of(self);
    const auto is_told = [](std::uint32_t word) noexcept { return (word & granted) != 0; };
    for (;;) {
      std::uint32_t told = 0;
      if (const auto found = watch.await(node, is_told, policy{}, false)) {
        told = *found;
      } else {
        const lock_errc why = watch.look(in_line::queued);
        if (why == lock_errc::acquired) continue;
        told = node.fetch_or(cancelled, std::memory_order_acq_rel);
        if (!is_told(told) || Fault == line_fault::cancels_late) return why;
      }
      if ((told & expired) == 0) return lock_errc::acquired;
      if (Fault != line_fault::keeps_expiry) pass(self, granted | expired);
      return lock_errc::timed_out;
    }
  }

  template <class Watch>
  lock_errc acquire_as_head(std::uint32_t self, Watch& watch) noexcept {
    for (;;) {
      const lock_errc how = await_free(owned | pending, watch, in_line::head);
      if (how != lock_errc::acquired) {
        if (Fault == line_fault::lone_head_waits) {
          const auto is_linked = [](std::uint32_t word) noexcept { return word >= one_in_next; };
          W::await(nodes::of(self), is_linked, std::memory_order_acquire, policy{});
        }
        if (Fault != line_fault::keeps_place)
          pass(self, watch.has_stalled() ? granted | expired : granted);
        return how;
      }
      if (Fault == line_fault::passes_before) {
        pass(self, granted);
        word_.fetch_or(owned, std::memory_order_relaxed);
        return lock_errc::acquired;
      }
      std::uint32_t found = found_;
      const bool is_last = found / one_in_tail == self;
      if (!word_.compare_exchange_strong(found, is_last ? owned : found | owned,
                                         std::memory_order_acquire, std::memory_order_relaxed)) {
        continue;
      }
      is_last ? release_node(self) : pass(self, granted);
      return lock_errc::acquired;
    }
  }

  void pass(std::uint32_t from, std::uint32_t signal) noexcept {
    for (;;) {
      if (close(from)) return release_node(from);
      const std::uint32_t node = nodes::of(from).fetch_or(passed, std::memory_order_acq_rel);
      const std::uint32_t next = node / one_in_next;
      if (next == 0) {
        if (Fault == line_fault::frees_unlinked) release_node(from);
        return;
      }
      release_node(from);
      const std::uint32_t behind = nodes::of(next).fetch_or(signal, std::memory_order_acq_rel);
      if ((behind & cancelled) == 0 || Fault == line_fault::grants_cancelled) return;
      from = next;
    }
  }

  bool close(std::uint32_t last) noexcept {
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    if (Fault == line_fault::stores_tail && found / one_in_tail == last) {
      word_.fetch_and(one_in_tail - 1, std::memory_order_acq_rel);
      return true;
    }
    while (found / one_in_tail == last) {
      if (word_.compare_exchange_strong(found, found % one_in_tail, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  static void release_node(std::uint32_t number) noexcept {
    nodes::of(number).store(0, std::memory_order_release);
  }

  template <class Watch>
  lock_errc await_free(std::uint32_t bits, Watch& watch, in_line where) noexcept {
    const auto is_free = [bits](std::uint32_t word) noexcept { return (word & bits) == 0; };
    for (;;) {
      if (const auto seen = watch.await(word_, is_free, policy{}, false)) {
        found_ = *seen;
        return lock_errc::acquired;
      }
      if (const lock_errc why = watch.look(where); why != lock_errc::acquired) return why;
    }
  }

  atomic<W, std::uint32_t> word_{0};
  std::uint32_t found_ = 0;
};

}  // namespace lockyard::checker
