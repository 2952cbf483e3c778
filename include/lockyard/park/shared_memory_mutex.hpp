// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/between_processes.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// Plays the kernel when an owner dies; defined by the checker's client.
template <class Lock>
struct death_of_owner;

/// A mutex for memory that several processes share, which outlives the death of its owner.
///
/// Use: in a mapping that processes share (shm_open, memfd_create, a file). Not for destruction by
///   the next owner while a thread that unlocks may end: its list would lead the kernel to memory
///   of other use. Between threads of one process, mutex costs less.
/// Source: U. Drepper's mutex of three states ("Futexes Are Tricky", 2004), on the kernel's robust
///   futexes (I. Molnar and T. Gleixner 2006).
/// Guarantees: mutual exclusion; timed; a newcomer may barge past any waiter any number of times.
///   If the owner ends while it holds the mutex, by SIGKILL at any instruction or by exec, the next
///   owner finds owner_died(). No thread that ends leaves the mutex locked, or another thread
///   asleep for more than `longest_sleep`. Not recursive. Not safe between a thread and its own
///   signal handler, if the handler uses a robust mutex. After fork, held by the parent. All
///   processes are in one PID namespace and have the same word size; 64-bit glibc, or a C library
///   without robust mutexes in use. A mapping must not be removed while a thread of the process
///   holds a mutex in it.
/// Size: 40 bytes, of which the kernel and the C library fix the layout. All zero bytes are the
/// free
///   state. word_ as in the kernel's ABI:
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 29 | the owner's thread id; 0: free |
/// | 30 | the owner died: set by the kernel, cleared by the next owner |
/// | 31 | a thread may sleep |
///
/// I1: while a thread sleeps in the kernel, bit 31 is set, or an owner is between its exchange and
///   its wake, or a woken thread has not reached its compare-exchange yet; except where such a
///   thread was killed, and then for at most `longest_sleep`.
/// No lost wake-up: a thread sleeps only if the kernel finds bit 31 set, compared and enqueued in
/// one step against every wake. The exchange of unlock takes the bit out and wakes a thread, which
/// sets the bit again, by acquiring the word or before it sleeps again. If the unlocker is killed
/// before its wake, or the woken thread before its compare-exchange, the kernel finds a free word
/// in list_op_pending and wakes the next thread. If a newcomer holds the word by then, or the last
/// owner died too, the kernel does not: therefore each sleep ends after `longest_sleep` at the
/// latest, and its thread looks again.
/// Death: an owner's word is in its thread's list or in list_op_pending, at every instruction, so
/// the kernel marks it. The client shared_memory_mutex_death and KilledProcess.* show both.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_shared_memory_mutex
    : public detail::timed_lock<basic_shared_memory_mutex<W>, W> {
  using processes = detail::between_processes<W>;

 public:
  /// The time after which a waiter looks again although no thread has woken it.
  static constexpr std::chrono::milliseconds longest_sleep{50};

  constexpr basic_shared_memory_mutex() noexcept = default;
  basic_shared_memory_mutex(const basic_shared_memory_mutex&) = delete;
  basic_shared_memory_mutex& operator=(const basic_shared_memory_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins briefly, then sleeps. Then owner_died()
  /// says whether the protected data may be in the middle of a change.
  /// Synchronisation: everything earlier owners did, before unlock or before their death, happens
  /// before the return. Progress: deadlock-free; none guaranteed to a given thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    processes::begin(link_);
    if (!take_word(0)) [[unlikely]]
      take_contended(W::never);
    keep();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: releases it, and wakes a sleeper if there may be one. If owner_died() is still true,
  /// it is true for the next owner too.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free except for the system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    processes::begin(link_);
    processes::remove(link_);
    // (word)  id -> 0,  id|sleepers -> 0 and one wake
    // order[unlock]: release; pairs [take]; publishes the critical section.
    const std::uint32_t found = word_.exchange(0, std::memory_order_release);
    if ((found & sleepers) != 0) [[unlikely]]
      processes::wake(word_);
    processes::end();
  }

  /// Whether an owner has died and its data are not consistent yet. Precondition: the calling
  /// thread holds the mutex.
  [[nodiscard]] bool owner_died() const noexcept { return has_dead_owner_.read(); }
  /// States that the protected data are consistent again. Precondition: as owner_died().
  void make_consistent() noexcept { has_dead_owner_.write(false); }

 private:
  friend detail::timed_lock<basic_shared_memory_mutex, W>;
  template <class Lock>
  friend struct death_of_owner;

  static constexpr std::uint32_t id = 0x3fff'ffff, died = 0x4000'0000, sleepers = 0x8000'0000;
  static constexpr auto is_free = [](std::uint32_t word) noexcept { return (word & id) == 0; };

  bool take() noexcept {
    processes::begin(link_);
    const bool acquired = take_word(0);
    if (acquired) {
      keep();
    } else {
      processes::end();
    }
    return acquired;
  }
  bool take_until(typename W::deadline limit) noexcept {
    processes::begin(link_);
    const bool acquired = take_contended(limit);
    if (acquired) {
      keep();
    } else {
      processes::end();
    }
    return acquired;
  }
  /// Ends an acquisition: from now on the kernel finds the mutex in the thread's list.
  void keep() noexcept {
    processes::add(link_);
    processes::end();
  }

  /// Acquires the word while it has no owner.
  bool take_word(std::uint32_t mark) noexcept {
    std::uint32_t found = 0;
    const std::uint32_t mine = W::thread_id() | mark;
    do {
      // (word)  0 -> id,  died -> id; the mark of sleepers stays
      // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
      // A dead owner's stores come before the kernel's full barrier.
      // relaxed(revalidated): the next turn compares the value found.
      if (word_.compare_exchange_strong(found, mine | (found & sleepers), std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        if ((found & died) != 0) has_dead_owner_.write(true);
        return true;
      }
    } while (is_free(found));
    return false;
  }

  /// Returns false if the deadline passed first.
  [[gnu::noinline, gnu::cold]] bool take_contended(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    if (spin()) return true;
    for (;;) {
      // relaxed(revalidated): the kernel compares the word.
      std::uint32_t found = word_.load(std::memory_order_relaxed);
      if (is_free(found)) {
        // Other threads may sleep, for which no mark is left.
        if (take_word(sleepers)) return true;
        continue;
      }
      // (word)  id -> id|sleepers
      // relaxed(atomicity): the mark alone; the kernel compares the word.
      if ((found & sleepers) == 0 &&
          !word_.compare_exchange_strong(found, found | sleepers, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        continue;
      }
      if (W::passed(limit)) return scope.result(false);
      processes::wait(word_, found | sleepers, limit, longest_sleep);
    }
  }

  bool spin() noexcept {
    wait_policies::backing_off<32, 8192> between_looks;
    const auto limit = W::spin_limit();
    // relaxed(revalidated): take_word() decides.
    while (W::await(word_, is_free, std::memory_order_relaxed, between_looks, limit)) {
      if (take_word(0)) return true;
    }
    return false;
  }

  atomic<W, std::uint32_t> word_{0};
  var<W, bool> has_dead_owner_{false};
  std::uint64_t reserved_[2]{};  ///< zero; the link has its place by the C library's layout
  typename processes::link link_;
};

using shared_memory_mutex = basic_shared_memory_mutex<>;

}  // namespace lockyard::inline v0
