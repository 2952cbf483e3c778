// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/announcement.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// What basic_mutex says in its bucket: who sleeps for the lock, and whether one of its waiters is
/// awake and attends it. It knows the lock by its address only, and outlives it where it has to.
template <world W>
class attendance {
 public:
  using lot = parking_lot<typename W::unwatched>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using fate = typename lot::fate;
  /// Whom to wake when the guard has been given back; only the address still means something then.
  using sleeper = const typename W::unwatched::template atomic<std::uint32_t>*;

  explicit attendance(const void* lock) noexcept : lock_{lock}, bucket_{lot::bucket_of(lock)} {}

  [[nodiscard]] typename bucket::guard_type& guard() noexcept { return bucket_.guard(); }

  // Looks, with or without the guard

  [[nodiscard]] announcement announced() const noexcept {
    // relaxed(fence): each look that counts has a fence or the guard before it; others are hints.
    return announcement{bucket_.announced.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] bool is_silent() const noexcept {
    return announced().word() == announcement::silent;
  }
  [[nodiscard]] bool is_concerned(announcement by) const noexcept {
    return by.concerns(lot::tag_of(lock_));
  }
  [[nodiscard]] bool is_attended() const noexcept {
    // relaxed(fence): as above.
    return bucket_.attended.load(std::memory_order_relaxed) == lock_;
  }
  /// When a sleeper was roused last, or when the first one came.
  [[nodiscard]] typename W::time_point relieved() const noexcept {
    // relaxed(hint): how long newcomers may overtake.
    return bucket_.relieved.load(std::memory_order_relaxed);
  }

  // Attendance

  /// False if there is somebody already, perhaps of another lock.
  bool attend() noexcept {
    const void* nobody = nullptr;
    // relaxed(fence): who finds the lock attended relies on stop_attending and what follows it.
    return bucket_.attended.compare_exchange_strong(nobody, lock_, std::memory_order_relaxed,
                                                    std::memory_order_relaxed);
  }
  void stop_attending() noexcept {
    // relaxed(fence): the owner's own release comes later; a waiter has a fence behind it.
    bucket_.attended.store(nullptr, std::memory_order_relaxed);
  }

  // Under the guard

  /// Links the caller's node; returns what is announced from then on.
  announcement link(node& own) noexcept {
    const announcement before = announced();
    // relaxed(hint): as in relieved().
    if (!before.has_sleepers()) bucket_.relieved.store(own.since(), std::memory_order_relaxed);
    bucket_.link(own);
    return announce(before.with(lot::tag_of(lock_)));
  }
  void unlink(node& own) noexcept {
    bucket_.remove(own);
    announce(announced().without_one());
  }
  [[nodiscard]] node* first() noexcept { return bucket_.find(lock_); }

  /// Unless the lock is attended, ends the first one's sleep, who attends the lock if the bucket
  /// has room to say so.
  [[nodiscard]] sleeper rouse() noexcept {
    node* const sleeps = first();
    if (sleeps == nullptr || is_attended()) return nullptr;
    // relaxed(hint): as in relieved().
    bucket_.relieved.store(W::now(), std::memory_order_relaxed);
    sleeps->is_roused();
    return release(*sleeps, attend() ? fate::designated : fate::awake);
  }
  [[nodiscard]] sleeper release(node& sleeps, fate told) noexcept {
    announce(announced().without_one());
    return &bucket_.release(sleeps, told);
  }

  /// The barrier has been had that `after` called for, or could not be had.
  void settle(const node& own, announcement after, bool had_barrier) noexcept {
    const announcement now = announced();
    if (!had_barrier) {
      announce(now.closed());
    } else if (bucket_.is_linked(own) && now.is_as_wide_as(after)) {
      announce(now.with_barrier());
    }
  }
  /// Lets unlock leave its fence out from now on, if nobody sleeps here.
  void open() noexcept {
    if (const announcement now = announced(); !now.has_sleepers()) announce(now.opened());
  }

 private:
  announcement announce(announcement changed) noexcept {
    // relaxed(fence): a barrier or fence of the sleeper's makes it count.
    bucket_.announced.store(changed.word(), std::memory_order_relaxed);
    return changed;
  }

  const void* lock_;
  bucket& bucket_;
};

}  // namespace lockyard::inline v0::detail
