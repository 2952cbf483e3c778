// SPDX-License-Identifier: Apache-2.0
#pragma once

// The debug mode's data: the locks that are held, waited for or part of an order, and the orders in
// which they were acquired. Plain data of fixed size, which the user of the graph must protect.

#include <lockyard/debug.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::debug::detail {

/// The place of an item in a pool; zero: no item.
using index = std::uint16_t;

/// A pool of `Size` - 1 items. All zero bytes are the empty pool.
template <class T, std::size_t Size>
class pool {
  static_assert(Size <= UINT16_MAX);

 public:
  /// Returns an item of all zero bytes; zero if all items are in use.
  index take() noexcept {
    const index taken = given_back_;
    if (taken == 0) return used_ + 1U < Size ? ++used_ : index{0};
    given_back_ = items_[taken].next;
    items_[taken].next = 0;
    return taken;
  }
  void release(index item) noexcept {
    items_[item] = T{};
    items_[item].next = given_back_;
    given_back_ = item;
  }
  T& operator[](index item) noexcept { return items_[item]; }

 private:
  std::array<T, Size> items_{};
  index given_back_ = 0;
  index used_ = 0;
};

/// A lock, which one thread may hold, or several threads may share. It is forgotten when no thread
/// holds it or waits for it and it is not part of an order.
struct watched_lock {
  index next;  // the next lock of the same bucket
  lock_id id;  // without an address: destroyed too early
  int owner;   // the thread's number; 0: no owner
  std::uint32_t sharers;
  std::uint32_t waiters;
  std::uint64_t acquisition;  // the number of the owner's acquisition among all acquisitions
  place since;
  index outgoing, incoming;  // orders with this lock first, and second
  std::uint64_t search;      // the last search that reached this lock
  index reached_by;
};

inline bool is_held(const watched_lock& lock) noexcept {
  return lock.owner != 0 || lock.sharers != 0;
}
inline bool is_in_use(const watched_lock& lock) noexcept {
  return is_held(lock) || lock.waiters != 0;
}

/// Two locks that a thread has held together, in this order, and the places of the acquisitions.
struct lock_order {
  index next;  // the next order with the same first lock
  index next_incoming;
  index first, second;
  place first_at, second_at;
};

/// The locks and their orders. All zero bytes are the empty graph.
template <std::size_t Locks, std::size_t Orders>
class lock_graph {
 public:
  watched_lock& operator[](index lock) noexcept { return locks_[lock]; }
  lock_order& order(index which) noexcept { return orders_[which]; }

  /// Returns zero if the lock is unknown. Locks may share an address, as a lock and its first
  /// member do.
  index find(lock_id id) noexcept {
    for (index each = bucket(id.address); each != 0; each = locks_[each].next) {
      if (locks_[each].id.address == id.address && locks_[each].id.type == id.type) return each;
    }
    return 0;
  }
  /// Returns the first lock at the address, of any type.
  index find(const void* address) noexcept {
    index each = bucket(address);
    while (each != 0 && locks_[each].id.address != address) each = locks_[each].next;
    return each;
  }
  /// Returns zero if there is no room for another lock.
  index find_or_add(lock_id id) noexcept {
    if (const index known = find(id); known != 0) return known;
    const index added = locks_.take();
    if (added == 0) return 0;
    locks_[added].id = id;
    locks_[added].next = bucket(id.address);
    bucket(id.address) = added;
    return added;
  }

  void forget_if_idle(index lock) noexcept {
    const watched_lock& each = locks_[lock];
    if (is_in_use(each) || each.outgoing != 0 || each.incoming != 0) return;
    if (each.id.address != nullptr)
      unlink(bucket(each.id.address), locks_, &watched_lock::next, lock);
    locks_.release(lock);
  }
  /// Records the lock's destruction: another lock may soon have its address. The entry stays,
  /// without an address, while a thread holds the lock or waits for it.
  void bury(index lock) noexcept {
    watched_lock& each = locks_[lock];
    while (each.outgoing != 0) disconnect(each.outgoing);
    while (each.incoming != 0) disconnect(each.incoming);
    unlink(bucket(each.id.address), locks_, &watched_lock::next, lock);
    each.id.address = nullptr;
    forget_if_idle(lock);
  }

  bool knows(index first, index second) noexcept {
    index each = locks_[first].outgoing;
    while (each != 0 && orders_[each].second != second) each = orders_[each].next;
    return each != 0;
  }
  /// Returns zero if there is no room for another order.
  index connect(index first, index second, const place& second_at) noexcept {
    const index added = orders_.take();
    if (added == 0) return 0;
    orders_[added] = {.next = locks_[first].outgoing,
                      .next_incoming = locks_[second].incoming,
                      .first = first,
                      .second = second,
                      .first_at = locks_[first].since,
                      .second_at = second_at};
    locks_[first].outgoing = locks_[second].incoming = added;
    return added;
  }

  /// Returns true if orders lead from `from` to `to`; then `reached_by` of each lock on the
  /// shortest path is the order that leads to that lock.
  bool leads(index from, index to) noexcept {
    ++searches_;
    std::size_t first = 0;
    std::size_t last = 0;
    locks_[from].search = searches_;
    for (queue_[last++] = from; first < last;) {
      const index here = queue_[first++];
      for (index each = locks_[here].outgoing; each != 0; each = orders_[each].next) {
        watched_lock& next = locks_[orders_[each].second];
        if (next.search == searches_) continue;
        next.search = searches_;
        next.reached_by = each;
        if (orders_[each].second == to) return true;
        queue_[last++] = orders_[each].second;
      }
    }
    return false;
  }

 private:
  index& bucket(const void* address) noexcept {
    const auto hash = reinterpret_cast<std::uintptr_t>(address) * 0x9E37'79B9'7F4A'7C15U;
    return buckets_[(hash >> 32U) % buckets_.size()];
  }

  template <class Pool, class Item>
  static void unlink(index& head, Pool& items, index Item::*next, index gone) noexcept {
    index* each = &head;
    while (*each != gone) each = &(items[*each].*next);
    *each = items[gone].*next;
  }
  void disconnect(index gone) noexcept {
    unlink(locks_[orders_[gone].first].outgoing, orders_, &lock_order::next, gone);
    unlink(locks_[orders_[gone].second].incoming, orders_, &lock_order::next_incoming, gone);
    orders_.release(gone);
  }

  pool<watched_lock, Locks> locks_{};
  pool<lock_order, Orders> orders_{};
  std::array<index, Locks / 4> buckets_{};
  std::array<index, Locks> queue_{};
  std::uint64_t searches_ = 0;
};

}  // namespace lockyard::inline v0::debug::detail
