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

/// A lock that one writer holds alone or many readers together, with an upgrade and a downgrade.
/// docs/locks/shared_mutex.md tells it at length.
///
/// Use: where reads are many and long enough to pay for two locked operations on a word that all
///   readers write. Sections of a few dozen nanoseconds do better under `mutex`.
/// Source: the phases are those of B. Brandenburg and J. Anderson (2010), the line is F. Pizlo's
///   parking lot (2016), the upgrade that of H. Hinnant's upgrade_mutex (2007) and Boost.Thread.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A sleeping writer stops new
///   readers, and the last reader hands it the lock; a writer that leaves hands the lock to all
///   readers that sleep. So nobody starves; what bounds each is in the functions' comments. Not
///   recursive, readers included: a writer between two acquisitions of one reader stops both. Not
///   safe between a thread and its own signal handler. After fork, held by the forking thread
///   alone, and by readers that the child does not have. May be destroyed by the next owner as soon
///   as that one holds it alone (below). Within one process only.
/// Size: 4 bytes. All zero bytes are the free state.
///
/// | word_ | meaning |
/// |---|---|
/// | written | a writer holds it |
/// | closed | a writer, or an upgrader on its way, sleeps: readers keep out |
/// | watched | somebody sleeps |
/// | upgradable | an upgrader holds it, beside readers |
/// | the rest | readers that hold it, and some that have come in vain and are about to leave |
///
/// I1 closed and watched change only under the bucket's guard. When it is free, watched is set if
///    and only if a node of this lock is linked, closed if and only if one of a writer is.
/// I2 written falls only by its writer, upgradable only by its upgrader, who lets go of it or turns
///    it into written in one step; who lets go of either while watched is set does so under the
///    guard.
/// No lost wake-up: a node is linked in one step with the look that finds it blocked (table below).
/// If by a writer or an upgrader, that one finds watched set, comes by the guard and looks after
/// the line (I2). If by readers, the node is a writer's and closed is set: whoever takes the count
/// of readers to zero sees that and comes by the guard. If by closed, a writer is linked, and looks
/// after the line when it gives up, or writes and leaves. Who is woken without the lock looks
/// again. Lifetime: N1 to N3 of parking_lot.hpp; after a reader's step that releases, the word is
/// touched under the guard only while a node of such a lock is linked, whose thread needs it. The
/// mutants shared_* hang, race or use what is gone if one of these goes.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_shared_mutex
    : public detail::timed_shared_lock<basic_shared_mutex<W>, W> {
  using request = detail::shared_word::request;

 public:
  /// How long newcomers may overtake the sleeping writers of a bucket before one is handed its
  /// lock.
  static constexpr std::chrono::microseconds patience = detail::shared_line<W>::patience;

  constexpr basic_shared_mutex() noexcept = default;
  basic_shared_mutex(const basic_shared_mutex&) = delete;
  basic_shared_mutex& operator=(const basic_shared_mutex&) = delete;

  // Alone

  /// Precondition: the calling thread does not hold the lock in any way.
  /// Effects: acquires it alone. Spins while another writer holds it and nobody sleeps; if there
  /// are readers, stops new ones, and waits until those have left.
  /// Synchronisation: what all did before they released it happens before the return.
  /// Progress: starvation-free if owners release it and the scheduler runs them: once asleep, it
  /// waits for the readers that are there, and for writers that overtake it for `patience` and as
  /// much for each older sleeper; each of them lets readers in once.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!state_.take_free()) [[unlikely]]
      wait_for(request::write);
  }

  /// Precondition: as lock(). Effects: acquires it alone if nobody holds it; returns whether it
  /// did. Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds it alone.
  /// Effects: releases it, and wakes the readers that sleep, or one writer.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free while nobody sleeps or comes; else it may wait for the bucket's guard, and
  /// makes a system call for each that it wakes. So do all the releases below.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    if (!state_.free()) [[unlikely]]
      give_up(request::write);
  }

  /// As unlock(), but a thread that sleeps to write, and has waited for longer than all others, is
  /// handed the lock at once. Readers that sleep are let in by unlock() already, and the last
  /// reader hands the lock to a writer that sleeps.
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    if (!state_.free()) [[unlikely]]
      state_.give_up(request::write, true);
  }

  // Together

  /// Precondition: as lock(). Effects: acquires it beside other readers; while a writer holds it,
  /// spins for as long as a sleep would cost, then sleeps; once a writer sleeps, sleeps behind it.
  /// Synchronisation: what writers did before they released it happens before the return.
  /// Progress: starvation-free as lock(): once asleep, it waits for one writer, and for those that
  /// slept before it.
  void lock_shared() noexcept LOCKYARD_ACQUIRE_SHARED() {
    const typename W::acquiring scope{this, W::sharing};
    if (!state_.enter()) [[unlikely]]
      share_contended();
  }

  /// Precondition: as lock(). Effects: acquires it beside other readers if no writer holds it or
  /// sleeps; returns whether it did.
  /// Synchronisation: as lock_shared() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock_shared() noexcept LOCKYARD_TRY_ACQUIRE_SHARED(true) {
    typename W::acquiring scope{this, W::trying_to_share};
    return scope.result(take_shared());
  }

  /// Precondition: the calling thread holds it by lock_shared() or one of its kind. Effects:
  /// releases it; the last reader hands it to a writer that sleeps.
  /// Synchronisation: everything done before happens before the next writer's acquisition returns.
  void unlock_shared() noexcept LOCKYARD_RELEASE_SHARED() {
    const typename W::releasing scope{this, W::sharing};
    leave();
  }

  // Together with readers, alone among upgraders and writers. Who watches sees a change of hold as
  // a release and an acquisition, one after the other: ThreadSanitizer does not look at what
  // happens between the begin and the end of either.

  /// Precondition: as lock(). Effects: acquires it beside readers, which come and go, as the one
  /// that may become a writer without a release in between.
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

  /// Precondition: the calling thread holds it by lock_upgrade() or one of its kind; so below.
  /// Effects, synchronisation: as unlock_shared(), and the next upgrader may come.
  void unlock_upgrade() noexcept LOCKYARD_RELEASE_SHARED() {
    const typename W::releasing scope{this, W::sharing};
    give_up(request::upgrade);
  }

  /// Upgrade. Effects: stops new readers, waits until those that are there have left, and holds it
  /// alone from then on; nobody has written in between. Synchronisation: as lock().
  void unlock_upgrade_and_lock() noexcept LOCKYARD_RELEASE_SHARED() LOCKYARD_ACQUIRE() {
    static_cast<void>(typename W::releasing{this, W::sharing});
    const typename W::acquiring scope{this};
    if (!take(request::write_on)) wait_for(request::write_on);
  }

  /// Effects: from upgrader to reader, at once.
  void unlock_upgrade_and_lock_shared() noexcept { give_up(request::upgrade, request::read); }

  /// Downgrade. Precondition: as unlock(). Effects: from writer to reader, at once; readers that
  /// sleep come in, too. Synchronisation: as unlock().
  void unlock_and_lock_shared() noexcept LOCKYARD_RELEASE() LOCKYARD_ACQUIRE_SHARED() {
    static_cast<void>(typename W::releasing{this});
    typename W::acquiring scope{this, W::trying_to_share};
    give_up(request::write, request::read);
  }

  /// The same from writer to upgrader.
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

  template <class... Deadline>
  [[gnu::noinline, gnu::cold]] bool wait_for(request wanted, Deadline... limit) noexcept {
    typename W::contended scope{this};
    return scope.result(state_.wait_for(wanted, limit...));
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
