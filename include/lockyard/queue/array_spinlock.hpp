// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace lockyard::inline v0 {

/// A ticket lock that calls its numbers in several slots: each waiter spins on the slot of its own
/// number. Each slot has its own cache line, so up to `Slots` waiters spin without sharing a line.
///
/// Use: on at most as many cores as there are slots, where a queue's pointers are not wanted and
/// size does not matter. Under oversubscription it is slow, as every lock with strict order is.
/// Source: T. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory
///   Multiprocessors" (1990). Anderson's slots hold a flag, so each waiter needs its own slot; the
///   slots here hold the called number, so waiters may share a slot.
/// Guarantees: mutual exclusion; first come, first served, by the order of the ticket draws, with
///   fewer than 2^32 threads, and no try_lock() that is stopped for exactly 2^32 acquisitions. Not
///   recursive. Not safe between a thread and its own signal handler. After fork, usable in the
///   child only if no thread waited. The next owner may destroy the lock as soon as it holds the
///   lock: unlock's last access is the store that calls the next number.
///   On x86, unlock does not order non-temporal stores: they need an sfence before it.
/// Size: Slots + 1 times 128 bytes. All zero bytes are the free state.
///
/// | next_ | slots_[n mod Slots] | meaning |
/// |---|---|---|
/// | n | n | free |
/// | n + 1 + k | n | held by the thread with ticket n; k threads wait |
///
/// Invariants: I1 a slot holds the last called number of the slot's numbers, and 0 at first; the
/// last called number is at most next_ (as distance, modulo 2^32). I2 only the owner writes slots_
/// and owner_.
template <world W = default_world, std::uint32_t Slots = 8>
class LOCKYARD_CAPABILITY basic_array_spinlock
    : public detail::held_assertions<basic_array_spinlock<W, Slots>, W> {
  static_assert(std::has_single_bit(Slots), "tickets wrap around, and must keep to their slots");

 public:
  constexpr basic_array_spinlock() noexcept = default;
  basic_array_spinlock(const basic_array_spinlock&) = delete;
  basic_array_spinlock& operator=(const basic_array_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: draws a ticket and waits for its turn, spinning and yielding in turns.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and the scheduler runs every thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    // relaxed(atomicity): the draw orders the waiters; the slots alone carry data.
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    // order[drawn]: acquire; pairs [unlock]; as in wait_for_turn().
    if (slot_of(mine).load(std::memory_order_acquire) != mine) [[unlikely]]
      wait_for_turn(mine);
    owner_.write(mine);
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free and no thread waits; returns
  /// whether it did. Synchronisation: as lock() if it returns true, none otherwise.
  /// Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    // relaxed(revalidated): the compare-exchange below checks the number again.
    std::uint32_t mine = next_.load(std::memory_order_relaxed);
    // order[called]: acquire; pairs [unlock]; if this number has not been drawn, the lock is free
    // and the critical section begins after the previous one.
    if (slot_of(mine).load(std::memory_order_acquire) != mine) return scope.result(false);
    // relaxed(atomicity): a draw as in lock(); the load above carries the data.
    const bool drawn = next_.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed,
                                                     std::memory_order_relaxed);
    if (drawn) owner_.write(mine);
    return scope.result(drawn);
  }

  /// Precondition: the calling thread holds the lock. Effects: calls the next number.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    const std::uint32_t next = owner_.read() + 1;
    // order[unlock]: release; pairs [drawn, turn, called]; publishes the critical section.
    slot_of(next).store(next, std::memory_order_release);
  }

 private:
  struct alignas(detail::arch::interference_size) slot {
    atomic<W, std::uint32_t> called{0};
  };

  [[gnu::noinline, gnu::cold]] void wait_for_turn(std::uint32_t mine) noexcept {
    const auto is_mine = [mine](std::uint32_t called) noexcept { return called == mine; };
    // order[turn]: acquire; pairs [unlock]; the critical section begins after the previous one.
    W::await(slot_of(mine), is_mine, std::memory_order_acquire,
             wait_policies::pausing_then_yielding<16>{});
  }

  auto& slot_of(std::uint32_t number) noexcept { return slots_[number % Slots].called; }

  alignas(detail::arch::interference_size) atomic<W, std::uint32_t> next_{0};
  /// The owner's ticket. It shares its cache line with next_, which each waiter accesses only once.
  var<W, std::uint32_t> owner_{0};
  std::array<slot, Slots> slots_{};
};

using array_spinlock = basic_array_spinlock<>;

}  // namespace lockyard::inline v0
