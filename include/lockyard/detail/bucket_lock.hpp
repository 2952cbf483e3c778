// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The lock of one bucket of the parking lot. Critical sections are short and bounded (B2 in
/// parking_lot.hpp), so a waiter spins first, for as long as a sleep would cost. A waiter that has
/// spun that long usually waits for an owner that was preempted. Then a thread with a real-time
/// policy waits in the kernel and lends the owner its priority, so that threads of priorities in
/// between cannot keep the owner off its processor. Other threads sleep until a release: the
/// kernel hands a priority-inheritance futex from waiter to waiter, which would make a queue out of
/// every preemption.
///
/// Source: the kernel's priority-inheritance futex, as in pi_mutex.hpp; the flag for sleepers comes
///   from U. Drepper's mutex ("Futexes Are Tricky", 2004), and has a word of its own here.
///
/// | word_ | asleep_ | meaning |
/// |---|---|---|
/// | 0 | | free |
/// | id | 0 | held by that thread; no thread sleeps, except one whose wake-up is under way |
/// | id | 1 | held; threads may sleep on asleep_ |
/// | id + waiters | | held; real-time threads may wait in the kernel, which hands the word over |
///
/// I1 While a thread sleeps on asleep_, asleep_ is 1, or an unlocker is between its exchange to 0
///    and its wake, or a woken thread has not reached its exchange to 1 yet.
/// No lost wake-up: a thread sets asleep_, then tries to acquire word_, and sleeps only while
/// asleep_ is 1. An unlocker releases word_, then looks at asleep_. All four accesses are
/// sequentially consistent, so the thread acquires word_, or the unlocker, or a later owner, finds
/// asleep_ set. A woken thread sets asleep_ again, which keeps I1 for the other sleepers. The
/// kernel wakes real-time waiters: the waiters bit makes the compare-exchange of unlock fail. The
/// lock lives as long as the process, and a forked child finds it free (parking_lot.hpp).
template <world W>
class bucket_lock {
 public:
  constexpr bucket_lock() noexcept = default;
  bucket_lock(const bucket_lock&) = delete;
  bucket_lock& operator=(const bucket_lock&) = delete;

  void lock() noexcept {
    if (!take()) [[unlikely]]
      lock_contended();
  }

  void unlock() noexcept {
    std::uint32_t expected = W::thread_id();
    // order[unlock]: seq_cst; pairs [take, take_failed]; publishes the critical section, and
    // forbids the cycle in which this thread misses a sleeper at [look], and the sleeper misses the
    // release.
    // relaxed(owner): after a failure this thread still holds the word, and the kernel hands it
    // off.
    if (!word_.compare_exchange_strong(expected, 0, std::memory_order_seq_cst,
                                       std::memory_order_relaxed)) [[unlikely]] {
      W::pi_unlock(word_);
      // order[handed_over]: seq_cst; pairs [take_failed]; forbids the cycle named at [unlock],
      // where the kernel frees the word because its waiter has gone.
      W::fence(std::memory_order_seq_cst);
    }
    // order[look]: seq_cst; pairs [mark]; forbids the cycle named at [unlock].
    if (asleep_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_one();
  }

 private:
  bool take() noexcept {
    std::uint32_t expected = 0;
    // order[take]: seq_cst; pairs [unlock]; starts after the last critical section, for which
    // acquire would do; but the failure order forbids the cycle named at [unlock], and compilers
    // refuse an order that is weaker than the failure order.
    // order[take_failed]: seq_cst; pairs [unlock, handed_over]; forbids the cycle named at
    // [unlock].
    return word_.compare_exchange_strong(expected, W::thread_id(), std::memory_order_seq_cst,
                                         std::memory_order_seq_cst);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    if (take_spinning()) return;
    if (W::is_real_time()) {
      W::pi_lock(word_);
      return;
    }
    for (;;) {
      // order[mark]: seq_cst; pairs [look]; forbids the cycle named at [unlock]. An exchange,
      // because a store might come before the unlocker's exchange to 0: a wake-up orders nothing.
      asleep_.exchange(1, std::memory_order_seq_cst);
      if (take()) return;
      W::wait(asleep_, 1);
    }
  }

  bool take_spinning() noexcept {
    const auto limit = W::spin_limit();
    const auto is_free = [](std::uint32_t word) noexcept { return word == 0; };
    // relaxed(revalidated): take() reads the word again.
    while (W::await(word_, is_free, std::memory_order_relaxed, wait_policies::pausing{}, limit)) {
      if (take()) return true;
    }
    return false;
  }

  [[gnu::noinline, gnu::cold]] void wake_one() noexcept {
    // relaxed(atomicity): one of several unlockers wakes a thread; a later unlocker sees the mark
    // that a sleeper sets after this exchange.
    if (asleep_.exchange(0, std::memory_order_relaxed) != 0) W::wake(asleep_, 1);
  }

  atomic<W, std::uint32_t> word_{0};
  atomic<W, std::uint32_t> asleep_{0};
};

}  // namespace lockyard::inline v0::detail
