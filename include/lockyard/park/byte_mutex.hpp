// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex of one byte, as in the textbook: one bit says held, one says that a thread sleeps, one
/// says that a sleeper was woken and is on its way, and the sleepers are in the parking lot. It is
/// here to show what `mutex` gains by keeping all bits but the first elsewhere.
/// docs/locks/byte_mutex.md explains it in detail.
///
/// Use: as the lock that others compare with. Otherwise take `mutex`: it is as small, and its
///   unlock costs a store in place of a locked operation.
/// Source: F. Pizlo, "Locking in WebKit" (2016), and the Rust crate parking_lot, for two of the
///   bits, the table of queues and the occasional hand-off; Go's sync.Mutex for `woken`.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A newcomer may barge, but one
///   unlock in `patience` that finds sleepers, and none of them on its way, hands the lock to the
///   first of them. Not recursive.
///   Not safe between a thread and its own signal handler. After fork, held by the forking thread
///   alone. The next owner may destroy the mutex as soon as it holds it: after the store that
///   releases, unlock uses the bucket only. Within one process only.
/// Size: 1 byte. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | held | held, no thread sleeps |
/// | held + parked | held, a thread sleeps |
/// | held + parked + woken | the same, and a former sleeper is awake and will look |
/// | parked, parked + woken | free, a thread sleeps, and a former sleeper is awake and will look
/// |
///
/// I1 `parked` changes only under the bucket lock. When the bucket lock is free, `parked` is set
///    if and only if a node of this lock is linked. After fork a child may find it set without.
/// I2 Only the thread that set `held` by an exchange clears it, or hands it off.
/// I3 `woken` is set only together with `parked`, under the bucket lock, by an owner that unparks
///    a sleeper. That sleeper clears it, at the latest, when it takes the lock or is linked again.
///    (The last node that goes clears it too. Then a second sleeper may be unparked before the
///    first has looked, and the first to look clears the bit of both: an unpark too many.)
/// No lost wake-up: a node is linked only while the lock is held, parked and not woken. By I1 that
/// owner's exchange in unlock then fails, and the owner takes the bucket lock and ends the first
/// waiter's sleep, unless it finds `woken`, which another owner has set since. In both cases an
/// unparked waiter has yet to look. That waiter takes the lock, or is linked again in a step that
/// finds the lock held and clears `woken`, so that this later owner takes the bucket lock; if it
/// gives up, it does so after such a step. Lifetime: N1 to N3 of parking_lot.hpp.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_byte_mutex : public detail::timed_lock<basic_byte_mutex<W>, W> {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  /// As in `mutex`: leaves an owner that holds it for long, or comes back over and over,
  /// undisturbed.
  using spacing = wait_policies::backing_off<32, 512>;

 public:
  /// The time for which newcomers may barge past the sleepers of a bucket before an unlock hands
  /// one its lock.
  static constexpr std::chrono::microseconds patience{500};

  constexpr basic_byte_mutex() noexcept = default;
  basic_byte_mutex(const basic_byte_mutex&) = delete;
  basic_byte_mutex& operator=(const basic_byte_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins for as long as a sleep would cost if no
  /// thread sleeps yet, and sleeps otherwise.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: starvation-free among the locks of a bucket if every owner unlocks, the scheduler
  /// runs every thread, and unlocks that find sleepers do not cease.
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
  /// Effects: releases it and wakes one sleeper, unless one is awake already, or hands it off.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free while no thread sleeps; otherwise it may wait for the bucket lock, and
  /// makes at most one system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(false);
  }

  /// As unlock(), but if a thread sleeps for the mutex, hands it off to the oldest waiter.
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
    // relaxed(hint): a failure says that a thread sleeps; the bucket tells which.
    if (!state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                        std::memory_order_relaxed)) [[unlikely]] {
      unlock_with_waiters(expected, is_fair);
    }
  }

  static constexpr auto kind = detail::waiter_kind::byte_mutex;
  static constexpr std::uint8_t held = 1;
  static constexpr std::uint8_t parked = 2;
  static constexpr std::uint8_t woken = 4;

  /// Under the bucket lock.
  node* first_in(const bucket& home) const noexcept { return home.first(this, kind); }

  /// Returns false if it is held. `finished` is `woken` if the caller is the unparked waiter.
  bool take(std::uint8_t finished = 0) noexcept {
    std::uint8_t expected = 0;
    do {
      const auto taken = static_cast<std::uint8_t>((expected & ~finished) | held);
      // (state)  0 -> held,  parked (+ woken) -> held + parked (+ woken)
      // order[take]: acquire; pairs [unlock, unlock_woken, unlock_with_waiters]; the critical
      // section starts after the last one's end. relaxed(hint): a failure promises nothing.
      if (state_.compare_exchange_strong(expected, taken, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
        return true;
      }
    } while ((expected & held) == 0);
    return false;
  }

  /// Releases while a thread sleeps.
  [[gnu::noinline]] void unlock_with_waiters(std::uint8_t found, bool is_fair) noexcept {
    if (!is_fair && (found & woken) != 0) {
      // (state)  held + parked + woken -> parked + woken
      // order[unlock_woken]: release; pairs [take]; publishes the critical section.
      // relaxed(hint): after a failure the bucket shows who sleeps.
      if (state_.compare_exchange_strong(found, found & ~held, std::memory_order_release,
                                         std::memory_order_relaxed)) {
        return;
      }
    }
    unlock_guarded(is_fair);
  }

  /// Releases under the bucket lock, where by I1 to I3 no other thread changes the state of a held
  /// lock.
  [[gnu::noinline, gnu::cold]] void unlock_guarded(bool is_fair) noexcept {
    bucket& home = lot::bucket_of(this);
    home.bucket_lock().lock();
    node* const first = first_in(home);
    // A forked child may have no waiters: their threads are the parent's.
    const bool others_sleep = bucket::length(first) > 1;
    const std::uint8_t sleepers = others_sleep ? parked : 0;
    const bool hands_over = first != nullptr && (is_fair || home.is_due(W::now(), patience));
    if (hands_over) {
      // relaxed(locked): the lock stays held; the node's wake reason carries the order for the next
      // owner.
      state_.store(held | sleepers, std::memory_order_relaxed);
    } else {
      // order[unlock_with_waiters]: release; pairs [take]; publishes the critical section. The lock
      // may no longer exist from here on.
      state_.store(others_sleep ? parked | woken : 0, std::memory_order_release);
    }
    const auto* const sleeper =
        first == nullptr
            ? nullptr
            : &home.unpark(*first, hands_over ? wake_reason::owner : wake_reason::retry);
    home.bucket_lock().unlock();
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

  /// Returns false if there is a deadline and it passed first. The spin does not check it: a
  /// time-out may be late by the length of a spin.
  bool wait_for_turn(typename W::deadline limit = W::never) noexcept {
    bucket& home = lot::bucket_of(this);
    node self{this, kind, W::now()};  // for its place in the queue
    std::uint8_t finished = 0;
    while (!spin(finished)) {
      if (!enqueue(home, self, finished)) continue;
      const wake_reason reason = sleep(home, self, limit);
      if (reason != wake_reason::retry) return reason == wake_reason::owner;
      finished = woken;
    }
    return true;
  }

  /// Does not spin if others sleep, unless the caller is the unparked waiter, for which unlocks
  /// wake no other.
  bool spin(std::uint8_t finished) noexcept {
    const auto limit = W::spin_limit();
    const std::uint8_t stops = finished != 0 ? 0 : parked;
    const auto is_news = [stops](std::uint8_t state) noexcept {
      return (state & held) == 0 || (state & stops) != 0;
    };
    // relaxed(revalidated): take() and the bucket lock decide.
    while (const auto seen =
               W::await(state_, is_news, std::memory_order_relaxed, spacing{}, limit)) {
      if (take(finished)) return true;
      if ((*seen & stops) != 0) return false;
    }
    return false;
  }

  /// Returns false if the lock was free in between.
  bool enqueue(bucket& home, node& self, std::uint8_t finished) noexcept {
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    // A forked child has the bits of its parent, and none of the threads that slept there.
    const std::uint8_t stale = first_in(home) != nullptr ? finished : parked | woken;
    // relaxed(revalidated): by the exchange.
    std::uint8_t found = state_.load(std::memory_order_relaxed);
    // (state)  held (+ parked + woken) -> held + parked (+ woken)
    // relaxed(locked): the bucket lock protects `parked`, and an unlock that finds it set, and
    // `woken` clear, takes the bucket lock.
    while ((found & held) != 0 &&
           !state_.compare_exchange_strong(found, (found & ~stale) | parked,
                                           std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
    const bool is_held = (found & held) != 0;
    if (is_held) home.link(self);
    home.bucket_lock().unlock();
    return is_held;
  }

  /// Returns the node's wake reason; `asleep` if the deadline passed first.
  wake_reason sleep(bucket& home, node& self, typename W::deadline limit) noexcept {
    const auto forget = [&] {
      if (first_in(home) != nullptr) return;
      // (state)  parked (+ woken) -> 0,  held + parked (+ woken) -> held
      // relaxed(locked): the bucket lock protects the bit.
      state_.fetch_and(held, std::memory_order_relaxed);
    };
    return lot::sleep(home, self, forget, limit);
  }

  atomic<W, std::uint8_t> state_{0};
};

using byte_mutex = basic_byte_mutex<>;

}  // namespace lockyard::inline v0
