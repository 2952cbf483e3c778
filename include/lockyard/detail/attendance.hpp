// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/announcement.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
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
  using wake_list = typename lot::wake_list;
  /// Whom to wake when the guard has been given back; only the address still means something then.
  using sleeper = const typename lot::sleeping_word*;

  explicit attendance(const void* lock) noexcept : lock_{lock}, bucket_{lot::bucket_of(lock)} {}

  /// Unless is_silent() of what this returns is true it must not be used any further: it may be a
  /// bucket that only looks like one, and that is never silent.
  static attendance to_look_at(const void* lock) noexcept {
    return {lock, const_cast<bucket&>(lot::bucket_to_look_at(lock))};
  }

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
    return by.concerns(bucket::mark_of(lock_));
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

  /// Whether a sleeper was roused so long ago that it seems to want a processor. Unknown, so false,
  /// where threads sleep for several locks; see restart_patience().
  [[nodiscard]] bool is_late(typename W::time_point now) const noexcept {
    if (!announced().is_of_one_lock()) return false;
    // relaxed(hint): who is wrong yields for nothing, or not.
    const std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    return is_of_this_lock(word) && (word & called) != 0 && now - relieved() > lateness;
  }
  /// Newcomers may overtake for as long again, from now on. Not where threads sleep for several
  /// locks: the clock is one for all locks of the bucket, so another lock's waiters would keep it
  /// from running out for this one.
  void restart_patience(typename W::time_point now) noexcept {
    if (!announced().is_of_one_lock()) return;
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
    const linked after = link(own);
    if (attends) stop_attending();
    guard().unlock();
    // Another one's barrier has made the announcement good; an end of attendance needs its own.
    if (UnlockHasFence || (after.is_armed && !attends)) {
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

  /// What the node was told; unlinks it if it was told nothing.
  fate end_sleep(node& own) noexcept {
    fate told = own.seen();
    if (told != fate::asleep) return told;
    guard().lock();
    told = own.seen();
    if (told == fate::asleep) unlink(own);
    guard().unlock();
    return told;
  }
  /// Calls `change` under the guard, and wakes the thread that it returns behind it.
  template <class Change>
  void under_guard(Change change) noexcept {
    guard().lock();
    const sleeper roused = change();
    guard().unlock();
    if (roused != nullptr) W::wake(*roused, 1);
  }

  // Under the guard

  /// How the bucket stood when a node had been linked.
  struct linked {
    bool is_armed;         ///< a barrier has been executed for all marks
    std::uint32_t marked;  ///< how often there was a new one
  };

  /// Links the caller's node.
  linked link(node& own) noexcept {
    if (!announced().has_sleepers()) restart_patience(own.since());
    bucket_.link(own);
    announce_sleepers(1);
    return {.is_armed = announced().is_armed(), .marked = bucket_.marked.read()};
  }
  void unlink(node& own) noexcept {
    bucket_.remove(own);
    announce_sleepers(-1);
  }
  [[nodiscard]] node* first() noexcept {
    return is_concerned(announced()) ? bucket_.first(lock_, waiter_kind::mutex) : nullptr;
  }

  /// Unless the lock is attended, ends the first one's sleep, who attends the lock if the bucket
  /// has room to say so.
  [[nodiscard]] sleeper rouse() noexcept {
    node* const sleeps = first();
    if (sleeps == nullptr || is_attended()) return nullptr;
    restart_patience(W::now());
    return release(*sleeps, call() ? fate::designated : fate::awake);
  }
  [[nodiscard]] sleeper release(node& sleeps, fate told) noexcept {
    unlink(sleeps);
    return &bucket_.tell(sleeps, told);
  }

  // Under the guard, for a condition variable whose waiters wait with this lock: they sleep in the
  // lock's bucket from the beginning, for the condition variable, and one that is notified is moved
  // to the lock and sleeps on. For a barrier at that time nobody could wait, so none is needed: who
  // begins to wait holds the lock, and every owner after it finds the bucket `fenced`, and has a
  // fence in unlock; or it finds the one that was moved announced, before its release.

  [[nodiscard]] node* first_for(const void* condition) const noexcept {
    return bucket_.first(condition, waiter_kind::condition);
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
  [[nodiscard]] const typename lot::sleeping_word& release_expected(node& waits,
                                                                    fate told) noexcept {
    const auto& name = bucket_.release(waits, told);
    no_more_expected();
    return name;
  }
  /// The node goes on as a sleeper of the lock. It is announced before `fenced` may go, and the
  /// caller has a fence before it looks whether the lock is free.
  void move_expected(node& sleeps, typename W::time_point now) noexcept {
    if (!announced().has_sleepers()) restart_patience(now);
    bucket_.move(sleeps, lock_, waiter_kind::mutex, now);
    announce_sleepers(1);
    no_more_expected();
  }

  /// The barrier that `after` called for was executed, or is unavailable. It does for all marks
  /// that stand, unless there was a new one after `after`.
  void settle(const node& own, const linked& after, bool had_barrier) noexcept {
    if (!had_barrier) {
      close();
    } else if (bucket_.is_linked(own) && bucket_.marked.read() == after.marked) {
      announce(announced().with_barrier());
    }
  }
  /// A barrier could not be had.
  void close() noexcept { announce(announced().closed()); }
  /// Lets unlock leave its fence out from now on, if nobody sleeps here.
  void open() noexcept {
    if (const announcement now = announced(); !now.has_sleepers()) announce(now.opened());
  }

 private:
  attendance(const void* lock, bucket& home) noexcept : lock_{lock}, bucket_{home} {}

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
  void announce(announcement changed) noexcept {
    // relaxed(fence): a barrier or fence of the sleeper's makes it count.
    bucket_.announced.store(changed.word(), std::memory_order_relaxed);
  }
  /// After a change of the queues, for so many more.
  void announce_sleepers(std::int32_t more) noexcept {
    const announcement before = announced();
    const auto locks = bucket_.count(waiter_kind::mutex);
    const announcement now = before.of(before.sleepers() + static_cast<std::uint32_t>(more),
                                       locks.marks, locks.objects > 1);
    if (now.has_marks_besides(before)) bucket_.marked.write(bucket_.marked.read() + 1);
    announce(now);
  }

  const void* lock_;
  bucket& bucket_;
};

}  // namespace lockyard::inline v0::detail
