// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/shared_line.hpp>
#include <lockyard/detail/shared_word.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

namespace lockyard::inline v0 {

/// A lock that one writer holds alone or many readers hold together, with an upgrade and a
/// downgrade. docs/locks/shared_mutex.md explains it in detail.
///
/// Use: where reads are many and long enough to pay for two locked operations on a word that all
///   readers write. Sections of a few dozen nanoseconds do better under `mutex`.
/// Source: the phases of B. Brandenburg and J. Anderson (2010), the queue of F. Pizlo's parking lot
///   (2016), the upgrade of H. Hinnant's upgrade_mutex (2007) and Boost.Thread.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A sleeping writer stops new
///   readers, and the last reader hands it the lock; a writer that leaves hands the lock to all
///   readers that sleep. So no thread starves; the functions' comments state each bound. Not
///   recursive, readers included: a writer between two acquisitions of one reader stops both. Not
///   safe between a thread and its own signal handler. After fork, held by the forking thread
///   alone, and by readers that the child does not have. The next owner may destroy the lock as
///   soon as it holds it alone (below). Within one process only.
/// Size: 4 bytes. All zero bytes are the free state.
///
/// | word_ | meaning |
/// |---|---|
/// | written | a writer holds it |
/// | closed | a writer, or an upgrader on its way, sleeps: readers keep out |
/// | parked | a thread sleeps |
/// | upgradable | an upgrader holds it, next to readers |
/// | the rest | readers that hold it, and some that failed to enter and are about to leave |
///
/// I1 closed and parked change only under the bucket lock. When the bucket lock is free, parked
///    is set if and only if a node of this lock is linked, closed if and only if a writer's node
///    is.
/// I2 Only its writer clears written. Only its upgrader clears upgradable, or turns it into written
///    in one step. A thread that clears either while parked is set does so under the bucket lock.
/// No lost wake-up: a node is linked in one step with the look that finds it blocked (table below).
/// If a writer or an upgrader blocks it, that thread finds parked set, takes the bucket lock and
/// serves the queue (I2). If readers block it, the node is a writer's and closed is set: the thread
/// that takes the count of readers to zero sees that and takes the bucket lock. If closed blocks
/// it, a writer is linked, and serves the queue when it gives up, or writes and leaves. A thread
/// that is woken without the lock looks again. Lifetime: N1 to N3 of parking_lot.hpp; after a
/// reader's step that releases, the word is touched under the bucket lock only while a node of such
/// a lock is linked, whose thread needs it. The mutants shared_* hang, race or use freed memory if
/// one of these steps is missing.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_shared_mutex
    : public detail::timed_shared_lock<basic_shared_mutex<W>, W> {
  using request = detail::shared_word::request;

 public:
  /// The time for which newcomers may barge past the sleeping writers of a bucket before an unlock
  /// hands one of them its lock.
  static constexpr std::chrono::microseconds patience = detail::shared_line<W>::patience;

  constexpr basic_shared_mutex() noexcept = default;
  basic_shared_mutex(const basic_shared_mutex&) = delete;
  basic_shared_mutex& operator=(const basic_shared_mutex&) = delete;

  // Alone

  /// Precondition: the calling thread does not hold the lock in any way.
  /// Effects: acquires it alone. Spins while another writer holds it and no thread sleeps; if there
  /// are readers, stops new ones, and waits until the present ones have left.
  /// Synchronisation: everything that all owners did before they released it happens before the
  /// return.
  /// Progress: starvation-free if owners release it and the scheduler runs them: once asleep, it
  /// waits for the readers that are there, and for writers that barge past it for `patience` and as
  /// much for each older sleeper; each of them lets readers in once.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!state_.take_free()) [[unlikely]]
      wait_for(request::write);
  }

  /// Precondition: as lock(). Effects: acquires it alone if it is free; returns whether it did.
  /// May also fail while a reader that could not enter is still counted.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds it alone.
  /// Effects: releases it, and wakes the readers that sleep when the call begins, or one writer.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free while no thread sleeps or arrives; otherwise it may wait for the bucket
  /// lock, and makes a system call for each thread that it wakes. So do all the releases below.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    if (!state_.free()) [[unlikely]]
      give_up(request::write);
  }

  /// As unlock(), but if the oldest sleeper of all wants to write, hands it the lock at once.
  /// unlock() already lets in readers that sleep, and the last reader hands the lock to a writer
  /// that sleeps.
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    if (!state_.free()) [[unlikely]]
      state_.give_up(request::write, true);
  }

  // Together

  /// Precondition: as lock(). Effects: acquires it together with other readers; while a writer
  /// holds it, spins for as long as a sleep would cost, then sleeps; once a writer sleeps, sleeps
  /// after it.
  /// Synchronisation: everything that writers did before they released it happens before the
  /// return.
  /// Progress: starvation-free as lock(): once asleep, it waits for one writer, and for the writers
  /// that slept before it.
  void lock_shared() noexcept LOCKYARD_ACQUIRE_SHARED() {
    const typename W::acquiring scope{this, W::sharing};
    if (!state_.enter()) [[unlikely]]
      share_contended();
  }

  /// Precondition: as lock(). Effects: acquires it together with other readers if no writer holds
  /// it or sleeps; returns whether it did.
  /// Synchronisation: as lock_shared() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock_shared() noexcept LOCKYARD_TRY_ACQUIRE_SHARED(true) {
    typename W::acquiring scope{this, W::trying_to_share};
    return scope.result(take_shared());
  }

  /// Precondition: the calling thread holds it by lock_shared() or a try or timed form of it.
  /// Effects: releases it; the last reader hands it off to a writer that sleeps.
  /// Synchronisation: everything done before happens before the next writer's acquisition returns.
  void unlock_shared() noexcept LOCKYARD_RELEASE_SHARED() {
    const typename W::releasing scope{this, W::sharing};
    leave();
  }

  // Together with readers, alone among upgraders and writers. A watcher sees a change of hold as a
  // release and an acquisition, one after the other: ThreadSanitizer does not look at the code
  // between the begin and the end of either.

  /// Precondition: as lock(). Effects: acquires it together with readers, which come and go, as the
  /// one owner that may become a writer without a release in between.
  /// Synchronisation, progress: as lock_shared(), and it waits for the upgraders before it.
  void lock_upgrade() noexcept LOCKYARD_ACQUIRE_SHARED() {
    const typename W::acquiring scope{this, W::sharing};
    if (!take(request::upgrade)) wait_for(request::upgrade);
  }

  /// As try_lock_shared(), if there is no other upgrader.
  [[nodiscard]] bool try_lock_upgrade() noexcept LOCKYARD_TRY_ACQUIRE_SHARED(true) {
    typename W::acquiring scope{this, W::trying_to_share};
    return scope.result(state_.try_take(request::upgrade));
  }

  /// Precondition: the calling thread holds it by lock_upgrade() or a try form of it; so below.
  /// Effects, synchronisation: as unlock_shared(), and the next upgrader may come.
  void unlock_upgrade() noexcept LOCKYARD_RELEASE_SHARED() {
    const typename W::releasing scope{this, W::sharing};
    give_up(request::upgrade);
  }

  /// Upgrade. Effects: stops new readers, waits until the present ones have left, and holds it
  /// alone from then on; no thread has written in between. Synchronisation: as lock().
  void unlock_upgrade_and_lock() noexcept LOCKYARD_RELEASE_SHARED() LOCKYARD_ACQUIRE() {
    static_cast<void>(typename W::releasing{this, W::sharing});
    const typename W::acquiring scope{this};
    if (!take(request::write_on)) wait_for(request::write_on);
  }

  /// Effects: turns the upgrader into a reader, at once.
  void unlock_upgrade_and_lock_shared() noexcept { give_up(request::upgrade, request::read); }

  /// Downgrade. Precondition: as unlock(). Effects: turns the writer into a reader, at once;
  /// readers that sleep come in, too. Synchronisation: as unlock().
  void unlock_and_lock_shared() noexcept LOCKYARD_RELEASE() LOCKYARD_ACQUIRE_SHARED() {
    static_cast<void>(typename W::releasing{this});
    typename W::acquiring scope{this, W::trying_to_share};
    give_up(request::write, request::read);
  }

  /// Does the same from writer to upgrader.
  void unlock_and_lock_upgrade() noexcept LOCKYARD_RELEASE() LOCKYARD_ACQUIRE_SHARED() {
    static_cast<void>(typename W::releasing{this});
    typename W::acquiring scope{this, W::trying_to_share};
    give_up(request::write, request::upgrade);
  }

 private:
  friend detail::timed_lock<basic_shared_mutex, W>;
  friend detail::timed_shared_lock<basic_shared_mutex, W>;

  bool take(request wanted = request::write) noexcept { return state_.take(wanted); }
  bool take_shared() noexcept { return state_.try_take(request::read); }

  [[gnu::noinline, gnu::cold]] bool wait_for(request wanted,
                                             typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    return scope.result(state_.wait_for(wanted, limit));
  }
  bool take_until(typename W::deadline limit) noexcept { return wait_for(request::write, limit); }
  bool take_shared_until(typename W::deadline limit) noexcept {
    return wait_for(request::read, limit);
  }
  [[gnu::noinline, gnu::cold]] void share_contended() noexcept {
    const typename W::contended scope{this};
    leave();
    state_.wait_for(request::read);
  }

  void leave() noexcept {
    if (state_.leave()) [[unlikely]]
      look_after_line();
  }
  [[gnu::noinline, gnu::cold]] void look_after_line() noexcept { state_.look_after(); }
  template <class... Request>
  [[gnu::noinline]] void give_up(Request... held_and_kept) noexcept {
    state_.give_up(held_and_kept...);
  }

  detail::shared_line<W> state_;
};

using shared_mutex = basic_shared_mutex<>;

}  // namespace lockyard::inline v0
