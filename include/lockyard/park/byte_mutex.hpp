// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex of one byte, as the textbook has it: one bit says held, the other that somebody sleeps,
/// and the sleepers are in the parking lot. It is here to show what `mutex` gains by keeping its
/// second bit elsewhere. docs/locks/byte_mutex.md tells it at length.
///
/// Use: as the lock that others compare with. Take `mutex` otherwise: it is as small, and its
///   unlock costs a store in place of a locked operation.
/// Source: F. Pizlo, "Locking in WebKit" (2016), and the Rust crate parking_lot, for the two bits,
///   the table of queues and the hand-over from time to time.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A newcomer may overtake, but for
///   one unlock in `patience` that finds sleepers, which hands the lock to the first of them. Not
///   recursive. Not safe between a thread and its own signal handler. After fork, held by the
///   forking thread alone. May be destroyed by the next owner as soon as that one holds it: after
///   the store that releases, unlock uses the bucket only. Within one process only.
/// Size: 1 byte. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | held | held, nobody sleeps |
/// | held + watched | held, somebody sleeps |
/// | watched | free, somebody sleeps, and one who slept has been roused |
///
/// I1 `watched` changes only under the bucket's guard. When the guard is free, it is set if and
///    only if a node of this lock is linked.
/// I2 Who has set `held` by an exchange clears it, or hands it over, and nobody else does.
/// No lost wake-up: a node is linked only while the lock is held and watched. By I1 that owner's
/// exchange in unlock then fails, and it takes the guard and ends the first one's sleep. That one
/// takes the lock, or finds it held by an owner that comes by the guard for those still linked; if
/// it gives up, it does so after such a look. Lifetime: N1 to N3 of parking_lot.hpp.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_byte_mutex : public detail::timed_lock<basic_byte_mutex<W>, W> {
  using lot = detail::parking_lot<typename W::unwatched>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using fate = typename lot::fate;
  /// As of `mutex`: an owner that holds it for long, or comes back over and over, is left in peace.
  using spacing = wait_policies::backing_off<32, 512>;

 public:
  /// How long newcomers may overtake the sleepers of a bucket before one is handed its lock.
  static constexpr std::chrono::microseconds patience{500};

  constexpr basic_byte_mutex() noexcept = default;
  basic_byte_mutex(const basic_byte_mutex&) = delete;
  basic_byte_mutex& operator=(const basic_byte_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins for as long as a sleep would cost if
  /// nobody sleeps yet, and sleeps otherwise.
  /// Synchronisation: what earlier owners did before unlock happens before the return.
  /// Progress: starvation-free among the locks of a bucket if every owner unlocks, every thread is
  /// run by the scheduler, and unlocks that find sleepers do not cease.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      lock_contended();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: releases it and wakes one sleeper, or hands it over to one.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free while nobody sleeps; else it may wait for the bucket's guard, and makes
  /// one system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(false);
  }

  /// As unlock(), but hands the mutex over if a thread sleeps for it, to the one that has waited
  /// for longest.
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(true);
  }

 private:
  friend detail::timed_lock<basic_byte_mutex, W>;

  void release(bool is_fair) noexcept {
    std::uint8_t expected = held;
    // (state)  held -> 0
    // order[unlock]: release; pairs [take]; publishes the critical section.
    // relaxed(hint): a failure says that somebody sleeps; the guard tells who.
    if (!state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                        std::memory_order_relaxed)) [[unlikely]] {
      unlock_watched(is_fair);
    }
  }

  static constexpr auto kind = detail::waiter_kind::byte_mutex;
  static constexpr std::uint8_t held = 1;
  static constexpr std::uint8_t watched = 2;

  /// Under the guard.
  node* first_in(const bucket& home) const noexcept { return home.first(this, kind); }

  /// False if it is held.
  bool take() noexcept {
    std::uint8_t expected = 0;
    do {
      // (state)  0 -> held,  watched -> held + watched
      // order[take]: acquire; pairs [unlock, unlock_watched]; the critical section starts after
      // the last one's end.
      // relaxed(hint): a failure promises nothing.
      if (state_.compare_exchange_strong(expected, expected | held, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
        return true;
      }
    } while ((expected & held) == 0);
    return false;
  }

  /// Somebody sleeps. By I1 and I2 nobody else changes the state of a held lock under the guard.
  [[gnu::noinline, gnu::cold]] void unlock_watched(bool is_fair) noexcept {
    bucket& home = lot::bucket_of(this);
    home.guard().lock();
    node* const first = first_in(home);
    // In a forked child there may be nobody: their threads are the parent's.
    const bool others_sleep = bucket::length(first) > 1;
    const std::uint8_t sleepers = others_sleep ? watched : 0;
    const bool hands_over = first != nullptr && (is_fair || home.is_due(W::now(), patience));
    if (hands_over) {
      // relaxed(locked): the lock stays held; the node's fate carries what the next owner needs.
      state_.store(held | sleepers, std::memory_order_relaxed);
    } else {
      // order[unlock_watched]: release; pairs [take]; publishes the critical section. The lock may
      // be gone from here on.
      state_.store(sleepers, std::memory_order_release);
    }
    const auto* const sleeper =
        first == nullptr ? nullptr : &home.release(*first, hands_over ? fate::owner : fate::awake);
    home.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    const typename W::contended scope{this};
    wait_for_turn();
  }
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    return scope.result(wait_for_turn(limit));
  }

  /// False if there is a deadline and it passed first. The spin does not ask for it: a time-out
  /// may be late by the length of a spin.
  template <class... Deadline>
  bool wait_for_turn(Deadline... limit) noexcept {
    bucket& home = lot::bucket_of(this);
    node self{this, kind, W::now()};  // for its place in line
    while (!spin()) {
      if (!get_in_line(home, self)) continue;
      const fate told = sleep(home, self, limit...);
      if (told != fate::awake) return told == fate::owner;
    }
    return true;
  }

  /// Who finds that others sleep does not spin.
  bool spin() noexcept {
    const auto limit = W::spin_limit();
    const auto is_news = [](std::uint8_t state) noexcept { return state != held; };
    // relaxed(revalidated): take() and the guard decide.
    while (const auto seen =
               W::await(state_, is_news, std::memory_order_relaxed, spacing{}, limit)) {
      if (take()) return true;
      if ((*seen & watched) != 0) return false;
    }
    return false;
  }

  /// False if the lock was free in between.
  bool get_in_line(bucket& home, node& self) noexcept {
    self.falls_asleep();
    home.guard().lock();
    // relaxed(revalidated): by I1 the guard shows who sleeps; the exchange catches the rest.
    std::uint8_t found = state_.load(std::memory_order_relaxed);
    // (state)  held -> held + watched
    // relaxed(locked): the guard protects the bit, and unlock comes by it when it finds it set.
    while (found == held &&
           !state_.compare_exchange_strong(found, held | watched, std::memory_order_relaxed,
                                           std::memory_order_relaxed)) {
    }
    const bool is_held = (found & held) != 0;
    if (is_held) home.link(self);
    home.guard().unlock();
    return is_held;
  }

  /// What the node was told in the end; nothing (`asleep`) if the deadline passed first.
  template <class... Deadline>
  fate sleep(bucket& home, node& self, Deadline... limit) noexcept {
    const auto forget = [&] {
      if (first_in(home) != nullptr) return;
      // (state)  watched -> 0,  held + watched -> held
      // relaxed(locked): the guard protects the bit.
      state_.fetch_and(held, std::memory_order_relaxed);
    };
    return lot::sleep(home, self, forget, limit...);
  }

  typename W::template atomic<std::uint8_t> state_{0};
};

using byte_mutex = basic_byte_mutex<>;

}  // namespace lockyard::inline v0
