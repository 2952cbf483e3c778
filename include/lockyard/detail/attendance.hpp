// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/announcement.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// What basic_mutex says in its bucket: who sleeps for the lock, and whether one of its waiters
/// attends it. It knows the lock by its address only, and outlives it where it has to.
///
/// The bucket's word `attended`:
///
/// | bits | meaning |
/// |---|---|
/// | 0 | a waiter is awake and attends the lock |
/// | 1 | a sleeper has been roused, and is to attend it when it arrives |
/// | 2 to 63 | the lock's address; nothing if bits 0 and 1 are clear |
///
/// Either bit will do for those who rely on the lock being attended. There are two because a thread
/// that was roused may be long in coming: until then somebody else can be the one that is awake.
template <world W>
class attendance {
 public:
  using lot = parking_lot<typename W::unwatched>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using fate = typename lot::fate;
  using roused = typename lot::roused;
  /// Whom to wake when the guard has been given back; only the address still means something then.
  using sleeper = const typename W::unwatched::template atomic<std::uint32_t>*;

  explicit attendance(const void* lock) noexcept : lock_{lock}, bucket_{lot::bucket_of(lock)} {}

  [[nodiscard]] typename bucket::guard_type& guard() noexcept { return bucket_.guard(); }

  // Looks, with or without the guard

  [[nodiscard]] announcement announced() const noexcept {
    // relaxed(fence): each look that counts has a fence, the other side's barrier, or the guard
    // before it; others are hints.
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
    const std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    return is_of_this_lock(word) && (word & (awake | called)) != 0;
  }
  /// When a sleeper was roused last, or when the first one came.
  [[nodiscard]] typename W::time_point relieved() const noexcept {
    // relaxed(hint): how long newcomers may overtake.
    return bucket_.relieved.load(std::memory_order_relaxed);
  }

  /// Whether a sleeper was roused so long ago that it seems to want a processor.
  [[nodiscard]] bool is_late(typename W::time_point now) const noexcept {
    // relaxed(hint): who is wrong yields for nothing, or not.
    const std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    return is_of_this_lock(word) && (word & called) != 0 && now - relieved() > lateness;
  }
  /// How long newcomers may overtake counts from now on.
  void restart_patience(typename W::time_point now) noexcept {
    // relaxed(hint): as in relieved().
    bucket_.relieved.store(now, std::memory_order_relaxed);
  }

  // Attendance

  /// False if there is somebody awake already, or if the word is another lock's.
  bool attend() noexcept {
    // relaxed(fence): who finds the lock attended relies on stop_attending and what follows it.
    std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    while ((word & (awake | called)) == 0 || (is_of_this_lock(word) && (word & awake) == 0)) {
      if (exchange(word, name() | awake | (word & called))) return true;
    }
    return false;
  }
  /// By the one that was called. False if somebody else is awake, who goes on attending.
  bool answer() noexcept {
    // relaxed(fence): as in attend().
    std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    while (!exchange(word, name() | awake)) {
    }
    return (word & awake) == 0;
  }
  /// By the one that is awake.
  void stop_attending() noexcept {
    // relaxed(fence): the owner's own release comes later; a waiter has a barrier behind it.
    bucket_.attended.fetch_and(~awake, std::memory_order_relaxed);
  }

  // By a waiter. What is done is visible then to every unlock from now on, by a fence if unlock has
  // one too (`UnlockHasFence`), or by a barrier on all cores; false if some unlock may miss it.

  /// Links the caller's node, and ends its attendance if it attends.
  template <bool UnlockHasFence>
  bool join(node& own, bool attends) noexcept {
    own.falls_asleep();
    guard().lock();
    const announcement after = link(own);
    if (attends) stop_attending();
    guard().unlock();
    // Another one's barrier has made the announcement good; an end of attendance needs its own.
    if (UnlockHasFence || (after.is_armed() && !attends)) {
      // order[joined]: seq_cst; pairs [mutex.hpp:released]; forbids the cycle named there.
      W::fence(std::memory_order_seq_cst);
      return true;
    }
    const bool had_barrier = W::asymmetric_fence_heavy();
    guard().lock();
    settle(own, after, had_barrier);
    guard().unlock();
    return had_barrier;
  }
  /// Ends the caller's attendance.
  template <bool UnlockHasFence>
  bool leave() noexcept {
    // The guard has a name of its own here because surviving_mutants.txt knows lines by their text:
    // join() has a guard, too, whose orders must not be excused with these.
    auto& held_to_leave = guard();
    held_to_leave.lock();
    stop_attending();
    held_to_leave.unlock();
    if constexpr (UnlockHasFence) {
      // order[left]: seq_cst; pairs [mutex.hpp:released]; forbids the cycle named there. No client
      // of the checker comes here, the search being too large: mutant mutex_hands_on_without_fence.
      W::fence(std::memory_order_seq_cst);
      return true;
    } else {
      return W::asymmetric_fence_heavy();
    }
  }

  // Under the guard

  /// Links the caller's node; returns what is announced from then on.
  announcement link(node& own) noexcept {
    const announcement before = announced();
    if (!before.has_sleepers()) restart_patience(own.since());
    bucket_.link(own);
    return announce(before.with(lot::tag_of(lock_)));
  }
  void unlink(node& own) noexcept {
    bucket_.remove(own);
    announce(announced().without_one());
  }
  /// Under the guard the announcement knows; so the queue, which may be long with those who wait
  /// for a condition variable, is not searched in vain.
  [[nodiscard]] node* first() noexcept {
    return is_concerned(announced()) ? first_for(lock_) : nullptr;
  }

  /// Unless the lock is attended, ends the first one's sleep, who attends the lock if the bucket
  /// has room to say so.
  [[nodiscard]] sleeper rouse() noexcept {
    node* const sleeps = first();
    if (sleeps == nullptr || is_attended()) return nullptr;
    restart_patience(W::now());
    sleeps->is_roused();
    return release(*sleeps, call() ? fate::designated : fate::awake);
  }
  [[nodiscard]] sleeper release(node& sleeps, fate told) noexcept {
    announce(announced().without_one());
    return &bucket_.release(sleeps, told);
  }

  // Under the guard, for a condition variable whose waiters wait with this lock: they sleep in the
  // lock's bucket from the beginning, for the condition variable, and one that is notified is moved
  // to the lock and sleeps on. For a barrier at that time nobody could wait, so none is needed: who
  // begins to wait holds the lock, and every owner after it finds the bucket `fenced`, and has a
  // fence in unlock; or it finds the one that was moved announced, before its release.

  [[nodiscard]] node* first_for(const void* condition) noexcept { return bucket_.find(condition); }
  [[nodiscard]] node* next_for_the_same(const node& one) noexcept {
    return bucket_.find_behind(one);
  }
  /// Links the node of the lock's owner, which waits for something else first.
  void expect(node& own) noexcept {
    bucket_.link(own);
    const std::uint32_t before = bucket_.expected.read();
    bucket_.expected.write(before + 1);
    if (before == 0) announce(announced().fenced());
  }
  void unlink_expected(node& own) noexcept {
    bucket_.remove(own);
    no_more_expected();
  }
  [[nodiscard]] const auto& release_expected(node& waits, fate told) noexcept {
    const auto& name = bucket_.release(waits, told);
    no_more_expected();
    return name;
  }
  /// The node goes on as a sleeper of the lock. It is announced before `fenced` may go, and the
  /// caller has a fence before it looks whether the lock is free.
  void move_expected(node& sleeps, typename W::time_point now) noexcept {
    const announcement before = announced();
    if (!before.has_sleepers()) restart_patience(now);
    bucket_.move(sleeps, lock_, now);
    announce(before.with(lot::tag_of(lock_)));
    no_more_expected();
  }

  /// The barrier has been had that `after` called for, or could not be had.
  void settle(const node& own, announcement after, bool had_barrier) noexcept {
    const announcement now = announced();
    if (!had_barrier) {
      close();
    } else if (bucket_.is_linked(own) && now.is_as_wide_as(after)) {
      announce(now.with_barrier());
    }
  }
  /// A barrier could not be had.
  void close() noexcept { announce(announced().closed()); }
  /// Lets unlock leave its fence out from now on, if nobody sleeps here.
  void open() noexcept {
    if (const announcement now = announced(); !now.has_sleepers()) announce(now.opened());
  }

 private:
  static constexpr std::uintptr_t awake = 1, called = 2;
  static constexpr std::chrono::microseconds lateness{50};

  /// The bits shifted out tell no two objects apart.
  [[nodiscard]] std::uintptr_t name() const noexcept {
    return reinterpret_cast<std::uintptr_t>(lock_) << 2U;
  }
  [[nodiscard]] bool is_of_this_lock(std::uintptr_t word) const noexcept {
    return (word & ~(awake | called)) == name();
  }
  bool exchange(std::uintptr_t& from, std::uintptr_t to) noexcept {
    // relaxed(fence): as in attend().
    return bucket_.attended.compare_exchange_strong(from, to, std::memory_order_relaxed,
                                                    std::memory_order_relaxed);
  }
  /// For a sleeper, of a lock that nobody attends. False if the word is another lock's.
  bool call() noexcept {
    // relaxed(fence): as in attend().
    std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    while ((word & (awake | called)) == 0 || is_of_this_lock(word)) {
      if (exchange(word, name() | called | (word & awake))) return true;
    }
    return false;
  }
  void no_more_expected() noexcept {
    const std::uint32_t less = bucket_.expected.read() - 1;
    bucket_.expected.write(less);
    if (less == 0) announce(announced().unfenced());
  }
  announcement announce(announcement changed) noexcept {
    // relaxed(fence): a barrier or fence of the sleeper's makes it count.
    bucket_.announced.store(changed.word(), std::memory_order_relaxed);
    return changed;
  }

  const void* lock_;
  bucket& bucket_;
};

}  // namespace lockyard::inline v0::detail
