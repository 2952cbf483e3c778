// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks that threads held when they ended.

#include <lockyard/detail/held_table.hpp>
#include <lockyard/detail/sanitizer.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail {

template <world W>
class dead_owners {
 public:
  [[nodiscard]] bool contains(const void* lock) const noexcept {
    return std::any_of(locks_.begin(), locks_.end(), [lock](const word& each) {
      // relaxed(hint): remove() decides.
      return each.load(std::memory_order_relaxed) == entry_tag::entry_of(lock);
    });
  }

  /// Adds the lock of a dead owner. Where there is no room, waiters leave by the stall time-out.
  void add(const void* lock) noexcept {
    for (word& each : locks_) {
      std::uint64_t free = 0;
      // order[bury]: release; pairs [exhume]; publishes the last acts of the dead owner.
      // relaxed(hint): the place belongs to another lock.
      if (each.compare_exchange_strong(free, entry_tag::entry_of(lock), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
  }

  /// Adds the lock, called by the owner as it ends. ThreadSanitizer is told of a release, because
  /// no other thread could release a lock that ThreadSanitizer takes to be held by this thread.
  void leave(const void* lock) noexcept {
    const void* const address = address_of_key(lock);
    sanitizer::before_release(address, sanitizer::attempt::blocking);
    add(lock);
    sanitizer::after_release(address, sanitizer::attempt::blocking);
  }
  /// Removes the lock again, called by the same thread if it releases the lock after all, and tells
  /// ThreadSanitizer that the thread holds the lock. Returns false if another thread has recovered
  /// the lock in the meantime.
  bool take_back(const void* lock) noexcept {
    if (!remove(lock)) return false;
    const void* const address = address_of_key(lock);
    sanitizer::before_acquire(address, sanitizer::attempt::trying);
    sanitizer::after_acquire(address, sanitizer::attempt::trying, true);
    return true;
  }

  /// Removes a lock. Only one thread gets true for a lock whose owner has ended: that thread may
  /// release the lock.
  bool remove(const void* lock) noexcept {
    for (word& each : locks_) {
      std::uint64_t buried = entry_tag::entry_of(lock);
      // order[exhume]: acquire; pairs [bury]; the dead owner's last acts come before.
      // relaxed(hint): the place belongs to another lock.
      if (each.compare_exchange_strong(buried, 0, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  using word = typename held_table<W>::word;

  std::array<word, (held_table<W>::is_large ? 64 : 1)> locks_{};
};

}  // namespace lockyard::inline v0::detail
