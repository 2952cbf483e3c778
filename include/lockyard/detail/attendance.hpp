// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/announcement.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The state that basic_mutex keeps in its bucket: which threads sleep for the lock, and whether
/// the lock has an active waiter. It knows the lock by its address only, and may outlive the lock.
///
/// The bucket's word `attended`:
///
/// | bits | meaning |
/// |---|---|
/// | 0 | a waiter is awake and is the lock's active waiter |
/// | 1 | a sleeper has been unparked, and becomes the active waiter when it arrives |
/// | 2 to 63 | the lock's address; no meaning if bits 0 and 1 are clear |
///
/// An unlocker that relies on an active waiter may rely on either bit. There are two bits because
/// an unparked thread may take long to arrive: until then another waiter can be the active one.
template <world W>
class attendance {
 public:
  using lot = parking_lot<typename W::unwatched>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using fate = typename lot::fate;
  using wake_list = typename lot::wake_list;
  /// The sleeper to wake after the release of the bucket lock; then only its address is valid.
  using sleeper = const typename lot::sleeping_word*;

  explicit attendance(const void* lock) noexcept : lock_{lock}, bucket_{lot::bucket_of(lock)} {}

  /// Returns an object to call is_silent() on. If is_silent() returns false, the object must not be
  /// used any further: its bucket may be a substitute of zero bytes, which is never silent.
  static attendance to_look_at(const void* lock) noexcept {
    return {lock, const_cast<bucket&>(lot::bucket_to_look_at(lock))};
  }

  [[nodiscard]] typename bucket::guard_type& guard() noexcept { return bucket_.guard(); }

  // Observers, called with or without the bucket lock

  [[nodiscard]] announcement announced() const noexcept {
    // relaxed(fence): each load that a decision relies on comes after a fence, the other side's
    // barrier, or the acquisition of the bucket lock; all other loads are hints.
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
  /// The time of the last unpark; before the first unpark, the time when the first sleeper came.
  [[nodiscard]] typename W::time_point relieved() const noexcept {
    // relaxed(hint): it decides how long newcomers may barge.
    return bucket_.relieved.load(std::memory_order_relaxed);
  }

  /// Whether a sleeper was unparked so long ago that it seems to lack a processor. Where threads
  /// sleep for several locks this is unknown, and the result is false; see restart_patience().
  [[nodiscard]] bool is_late(typename W::time_point now) const noexcept {
    if (!announced().is_of_one_lock()) return false;
    // relaxed(hint): a wrong result costs one yield too many, or one too few.
    const std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    return is_of_this_lock(word) && (word & called) != 0 && now - relieved() > lateness;
  }
  /// Restarts the time for which newcomers may barge. Does nothing where threads sleep for several
  /// locks: all locks of the bucket share one clock, so the waiters of another lock could restart
  /// it again and again, and this lock's time would never run out.
  void restart_patience(typename W::time_point now) noexcept {
    if (!announced().is_of_one_lock()) return;
    // relaxed(hint): as in relieved().
    bucket_.relieved.store(now, std::memory_order_relaxed);
  }

  // The active waiter

  /// Makes the caller the active waiter. Returns false if another waiter is awake already and has
  /// that role, or if the word belongs to another lock.
  bool attend() noexcept {
    // relaxed(fence): an unlocker that finds an active waiter relies on stop_attending() and on the
    // fence or barrier that follows stop_attending().
    std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    while ((word & (awake | called)) == 0 || (is_of_this_lock(word) && (word & awake) == 0)) {
      if (exchange(word, name() | awake | (word & called))) return true;
    }
    return false;
  }
  /// Makes the caller, which was unparked as `designated`, the active waiter. Returns false if
  /// another waiter is awake and has that role; that waiter keeps it.
  bool answer() noexcept {
    // relaxed(fence): as in `attend`.
    std::uintptr_t word = bucket_.attended.load(std::memory_order_relaxed);
    while (!exchange(word, name() | awake)) {
    }
    return (word & awake) == 0;
  }
  /// Ends the role of the caller, which is the active waiter.
  void stop_attending() noexcept {
    // relaxed(fence): the owner's own release comes later; a waiter executes a barrier afterwards.
    bucket_.attended.fetch_and(~awake, std::memory_order_relaxed);
  }

  // Functions for a waiter. When one returns true, its effect is visible to every later unlock: by
  // a fence if unlock has a fence too (`UnlockHasFence`), otherwise by a barrier on all cores. When
  // it returns false, some unlock may miss the effect.

  /// Links the caller's node; if `attends`, the caller is the active waiter and gives that role up.
  template <bool UnlockHasFence>
  bool join(node& own, bool attends) noexcept {
    own.falls_asleep();
    guard().lock();
    const linked after = link(own);
    if (attends) stop_attending();
    guard().unlock();
    // Another thread's barrier has made the lock's mark visible to every unlock; the end of the
    // role of active waiter needs a barrier of its own.
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
  /// Ends the role of the caller, which is the active waiter.
  /// Calls stop_attending() under the bucket lock, and executes the fence or barrier after it.
  template <bool UnlockHasFence>
  bool leave() noexcept {
    // The bucket lock has a name of its own here because surviving_mutants.txt identifies lines by
    // their text: join() takes the bucket lock too, and its orders must not be excused with these.
    auto& held_to_leave = guard();
    held_to_leave.lock();
    stop_attending();
    held_to_leave.unlock();
    if constexpr (UnlockHasFence) {
      // order[left]: seq_cst; pairs [mutex.hpp:released]; forbids the cycle named there. No client
      // of the checker covers this line, because the search is too large; the mutant
      // mutex_hands_on_without_fence does.
      W::fence(std::memory_order_seq_cst);
      return true;
    } else {
      return W::asymmetric_fence_heavy();
    }
  }

  /// Returns the node's wake reason. If it has none, unlinks the node and returns `asleep`.
  fate end_sleep(node& own) noexcept {
    fate told = own.seen();
    if (told != fate::asleep) return told;
    guard().lock();
    told = own.seen();
    if (told == fate::asleep) unlink(own);
    guard().unlock();
    return told;
  }
  /// Calls `change` under the bucket lock. Wakes the sleeper that `change` returns, if any, after
  /// the release of the bucket lock.
  template <class Change>
  void under_guard(Change change) noexcept {
    guard().lock();
    const sleeper roused = change();
    guard().unlock();
    if (roused != nullptr) W::wake(*roused, 1);
  }

  // Functions under the bucket lock

  /// The state of the bucket right after a node was linked.
  struct linked {
    bool is_armed;         ///< a barrier has been executed for all marks
    std::uint32_t marked;  ///< how often the waiter summary had got a new mark
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

  /// Unparks the first sleeper, unless the lock has an active waiter. The sleeper becomes the
  /// active waiter if the bucket's word is free to record that. Returns the sleeper to wake, or
  /// null.
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

  // Functions under the bucket lock, for a condition variable whose waiters wait with this lock.
  // Such a waiter sleeps in the lock's bucket from the beginning, in the queue of the condition
  // variable; a notification moves it to the queue of the lock, where it sleeps on. No thread can
  // wait for a barrier at the time of that move, and none is needed: a thread that begins to
  // wait holds the lock, and every later owner finds the bucket `fenced` and executes a fence in
  // unlock, or finds the moved waiter in the waiter summary before its release.

  [[nodiscard]] node* first_for(const void* condition) const noexcept {
    return bucket_.first(condition, waiter_kind::condition);
  }
  /// Links the node of the lock's owner, which begins to wait for a condition variable.
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
  /// Moves a condition waiter to the queue of the lock, where it sleeps on. The waiter summary
  /// includes the waiter before `fenced` may be cleared, and the caller executes a fence before it
  /// checks whether the lock is free.
  void move_expected(node& sleeps, typename W::time_point now) noexcept {
    if (!announced().has_sleepers()) restart_patience(now);
    bucket_.move(sleeps, lock_, waiter_kind::mutex, now);
    announce_sleepers(1);
    no_more_expected();
  }

  /// Records that the barrier that `after` required was executed, or is unavailable. The barrier
  /// covers all marks that are set, unless a new mark was set after `after`.
  void settle(const node& own, const linked& after, bool had_barrier) noexcept {
    if (!had_barrier) {
      close();
    } else if (bucket_.is_linked(own) && bucket_.marked.read() == after.marked) {
      announce(announced().with_barrier());
    }
  }
  /// Closes the bucket, because a barrier was unavailable: unlock executes a fence until open().
  void close() noexcept { announce(announced().closed()); }
  /// Lets unlock omit its fence from now on, if no thread sleeps in the bucket.
  void open() noexcept {
    if (const announcement now = announced(); !now.has_sleepers()) announce(now.opened());
  }

 private:
  attendance(const void* lock, bucket& home) noexcept : lock_{lock}, bucket_{home} {}

  static constexpr std::uintptr_t awake = 1, called = 2;
  static constexpr std::chrono::microseconds lateness{50};

  /// The lock's address without its highest bits, which are the same for all objects.
  [[nodiscard]] std::uintptr_t name() const noexcept {
    return reinterpret_cast<std::uintptr_t>(lock_) << 2U;
  }
  [[nodiscard]] bool is_of_this_lock(std::uintptr_t word) const noexcept {
    return (word & ~(awake | called)) == name();
  }
  bool exchange(std::uintptr_t& from, std::uintptr_t to) noexcept {
    // relaxed(fence): as in `attend`.
    return bucket_.attended.compare_exchange_strong(from, to, std::memory_order_relaxed,
                                                    std::memory_order_relaxed);
  }
  /// Records that a sleeper is being unparked as the active waiter of a lock that has none. Returns
  /// false if the word belongs to another lock.
  bool call() noexcept {
    // relaxed(fence): as in `attend`.
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
    // relaxed(fence): a barrier or fence that the sleeper executes makes the store visible.
    bucket_.announced.store(changed.word(), std::memory_order_relaxed);
  }
  /// Updates the waiter summary after a change of the queues by `more` sleepers.
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
