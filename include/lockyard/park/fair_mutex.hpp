// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/fair_queue.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0 {

/// The thread that gets a fair_mutex that is released while threads wait for it.
enum class handoff_policy : std::uint8_t {
  strict,   ///< the first in the queue
  patient,  ///< any thread that arrives, until the first in the queue has lost its patience
  barging,  ///< any thread that arrives
};

/// A mutex with a queue of waiters, first come, first served within bounds, in nodes on their own
/// stacks.
///
/// Use: where every thread has to get its share, at nearly the throughput of a mutex that barges.
/// Source: Windows' slim lock (a word with a list of stack nodes and a bit that locks it) and K42;
///   the time bound is WebKit's (F. Pizlo 2016), the active waiter nsync's designated waker.
/// Guarantees: mutual exclusion; no lost wake-up (below). strict: first in, first out. patient: as
///   soon as the first in the queue has been first for the patience, and is awake, the next unlock
///   hands it the mutex. barging: no bound. Not recursive. Not safe between a thread and its own
///   signal handler. After fork, held by the forking thread alone, with an empty queue. The next
///   owner may destroy the mutex as soon as it holds it (I4). Within one process only. A thread
///   that is preempted while it changes the queue (tens of nanoseconds) holds up the others, which
///   spin and yield meanwhile.
/// Size: 8 bytes. All zero bytes are the free state. word_ is the first in the queue, and flags:
///
/// | flag | meaning |
/// |---|---|
/// | held | owned |
/// | busy | a thread changes the queue; no other thread changes the queue until it is done |
/// | active | a waiter is awake, or being woken, and bound to look: unlock wakes no thread |
/// | due | only an unlock gives the mutex away, to the first in the queue |
///
/// I1: while a waiter is in the queue, the mutex is held or active. due implies held and a queue.
/// I2: only under busy does a waiter join or leave the queue, an active waiter cease to be one
///   without the mutex, and due change. Under busy the word changes by publish() alone.
/// I3: `active` stands for one thread: the first in the queue, if its node says so, or a newcomer
///   in spin_as_active_waiter(). A thread that is unparked is the first in the queue and is active.
/// I4: a releaser's last touch of the mutex is its compare-exchange or publish(); of a granted node
///   the exchange after it, of an unparked node the exchange before it; to wake, it uses the
///   address alone. A waiter leaves its stack after it has read granted, or has taken itself out
///   under busy. So neither is touched after its end (`lockyard check`, client sizes 2x1d, 3x1w).
/// No lost wake-up: a waiter sleeps only if the kernel finds asleep in its node, compared and
/// enqueued in one step against every wake; the thread that replaces asleep wakes. An unlock cannot
/// miss a queue, because its compare-exchange expects the word without a queue, or active, and
/// not due; otherwise it grants or unparks under busy. An active waiter gives the role back under
/// busy and only while the mutex is held, so the unlock to come finds no active waiter and unparks
/// one. Without the wake grants_to_sleepers_in_order_of_arrival and every check of two threads
/// hang.
template <world W = default_world, handoff_policy Policy = handoff_policy::patient,
          std::uint32_t PatienceUs = 200>
class LOCKYARD_CAPABILITY basic_fair_mutex
    : public detail::timed_lock<basic_fair_mutex<W, Policy, PatienceUs>, W> {
  static constexpr bool strict = Policy == handoff_policy::strict;

 public:
  constexpr basic_fair_mutex() noexcept = default;
  basic_fair_mutex(const basic_fair_mutex&) = delete;
  basic_fair_mutex& operator=(const basic_fair_mutex&) = delete;

  /// If patient: how long threads may barge past the first in the queue. A turn of the queue costs
  /// a few context switches, which this time has to outweigh; n waiters take n turns.
  static constexpr std::chrono::microseconds patience{PatienceUs};

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex, sleeping while it is held; may spin briefly before.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: deadlock-free, and unless barging starvation-free once in the queue, provided the
  /// scheduler lets threads that change the queue go on. Threads enter the queue by a race for
  /// busy, which a thread may lose any number of times.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      wait_in_line();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Where strict, it is never free while a thread is in the queue.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: hands the mutex to a waiter, or frees it; wakes a sleeper that it grants or unparks.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free if no thread is in the queue or changes it, or a waiter is active;
  /// otherwise as for entering the queue.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    std::uint64_t word = held;
    // (word)  held -> 0
    // order[unlock]: release; pairs [take, seize]; publishes the critical section.
    // relaxed(revalidated): unlock_with_waiters() compares the value found.
    if (!word_.compare_exchange_strong(word, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_with_waiters(word);
    }
  }

 private:
  friend detail::timed_lock<basic_fair_mutex, W>;

  static constexpr std::uint64_t held = 1, busy = 2, active = 4, due = 8;
  static constexpr std::uint64_t flags = held | busy | active | due;

  using waiter = detail::fair_waiter<W, Policy == handoff_policy::patient>;
  static_assert(alignof(waiter) > flags);

  /// Catches short holds soon, and leaves the line to an owner that comes back at once.
  using spacing = wait_policies::backing_off<128, 8192>;

  static constexpr bool is_open(std::uint64_t word) noexcept {
    return (word & (held | busy | due)) == 0;
  }

  /// Expects no queue at first: a load before the compare-exchange would cost more.
  bool take() noexcept { return take(0, active); }
  /// Acquires while the word is open; of the other flags keeps those in `kept`.
  bool take(std::uint64_t found, std::uint64_t kept) noexcept {
    while (is_open(found)) {
      const std::uint64_t taken = (found & ~flags) | (found & kept) | held;
      // (word)  0 -> held,  line|active -> line|active|held;  by the active waiter, -> line|held
      // order[take]: acquire; pairs [unlock, unlock_active, publish]; the critical section starts
      // after the last. relaxed(revalidated): the next turn compares the value found.
      if (word_.compare_exchange_strong(found, taken, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // The queue

  static waiter* head_of(std::uint64_t word) noexcept {
    return reinterpret_cast<waiter*>(static_cast<std::uintptr_t>(word & ~flags));
  }

  /// Sets busy; returns the word as it was before.
  std::uint64_t seize() noexcept {
    for (;;) {
      // (word)  line|x -> line|x|busy
      // order[seize]: acquire; pairs [unlock, unlock_active, publish]; the queue as its last user
      // left it, and the critical section.
      const std::uint64_t word = word_.fetch_or(busy, std::memory_order_acquire);
      if ((word & busy) == 0) return word;
      const auto is_idle = [](std::uint64_t value) { return (value & busy) == 0; };
      // relaxed(revalidated): the next turn takes it or not.
      W::await(word_, is_idle, std::memory_order_relaxed,
               wait_policies::pausing_then_yielding<64>{});
    }
  }

  /// Ends what seize() began: by a store, because no other thread writes meanwhile.
  void publish(waiter* head, std::uint64_t mark) noexcept {
    const std::uint64_t turn = strict && head != nullptr ? due : 0;
    // (word)  busy|... -> line|mark
    // order[publish]: release; pairs [take, seize]; publishes the queue, and with held clear the
    // critical section.
    word_.store(reinterpret_cast<std::uintptr_t>(head) | (mark & flags) | turn,
                std::memory_order_release);
  }

  /// Returns how long threads may still barge past the first in the queue; null if there is none.
  static std::chrono::nanoseconds time_to_barge(const waiter* first) noexcept {
    if (Policy != handoff_policy::patient || first == nullptr) {
      return std::chrono::nanoseconds::max();
    }
    return patience - first->length_of_turn();
  }

  /// Not cold: while a waiter is active, owners come and go here.
  [[gnu::noinline]] void unlock_with_waiters(std::uint64_t found) noexcept {
    // (word)  line|active|held -> line|active
    // order[unlock_active]: release; pairs [take, seize]; publishes the critical section.
    // relaxed(hint): after a failure the word is read anew.
    if ((found & (busy | due | active)) == active &&
        word_.compare_exchange_strong(found, found & ~held, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return;
    }
    unlock_under_busy();
  }

  [[gnu::noinline, gnu::cold]] void unlock_under_busy() noexcept {
    const std::uint64_t word = seize();
    waiter* const head = head_of(word);
    if ((word & due) != 0) {
      publish(waiter::remove(head, *head), held | (word & active));
      head->grant();
    } else if (head == nullptr || (word & active) != 0) {
      publish(head, word & active);
    } else {
      const auto* const sleeper = head->unpark();
      publish(head, active);
      waiter::wake(sleeper);
    }
  }

  // Waiting

  bool take_until(typename W::deadline limit) noexcept { return wait_in_line(limit); }

  /// Returns whether it acquired the mutex; without a limit it always does.
  [[gnu::noinline, gnu::cold]] bool wait_in_line(typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    if (!strict && spin()) return true;
    waiter self;
    if (enter(self)) return true;
    for (bool spins = strict;;) {
      const auto news = self.await_news(spins, limit);
      if (news == waiter::granted) return true;
      const auto acquired = step_forward(self, news == waiter::asleep, spins);
      if (acquired) return scope.result(*acquired);
    }
  }

  /// A newcomer's spin, until spinning cannot help, or the queue lacks an active
  /// waiter.
  bool spin() noexcept {
    const auto is_news = [](std::uint64_t word) noexcept {
      const bool lacks_waiter = head_of(word) != nullptr && (word & (active | busy)) == 0;
      return is_open(word) || (word & due) != 0 || lacks_waiter;
    };
    spacing between_looks;
    const auto limit = W::spin_limit();
    // relaxed(revalidated): take() and seize() read the word again.
    while (const auto found =
               W::await(word_, is_news, std::memory_order_relaxed, between_looks, limit)) {
      if (!is_open(*found)) return false;
      if (take(*found, active)) return true;
    }
    return false;
  }

  /// Takes the mutex if it is free (true), or puts `self` in the queue; before, spins as the active
  /// waiter if there is none.
  bool enter(waiter& self) noexcept {
    std::uint64_t word = seize();
    waiter* head = head_of(word);
    const auto left = time_to_barge(head);
    const bool is_active = head != nullptr && (word & (held | active | due)) == held;
    if (!strict && is_active && left.count() > 0) {
      publish(head, held | active);
      if (spin_as_active_waiter(left)) return true;
      word = seize();
      head = head_of(word);
    }
    if ((word & held) == 0) {
      publish(head, held | (is_active ? 0 : word & active));
      return true;
    }
    if (!is_active) {
      enqueue(head, self, word);
      return false;
    }
    const bool is_late = (word & due) == 0 && head != nullptr && time_to_barge(head).count() <= 0;
    const auto* const sleeper = is_late ? head->unpark() : nullptr;
    enqueue(head, self, is_late ? word | active : word & ~active);
    waiter::wake(sleeper);
    return false;
  }

  void enqueue(waiter* head, waiter& self, std::uint64_t mark) noexcept {
    if (strict) self.watch();
    publish(waiter::append(head, self), mark);
  }

  /// Spins as the waiter on which unlock relies; returns whether it took the mutex.
  bool spin_as_active_waiter(std::chrono::nanoseconds most) noexcept {
    spacing between_looks;
    const auto limit = W::spin_limit(most);
    // relaxed(revalidated): take() and seize() read the word again.
    while (const auto found =
               W::await(word_, &is_open, std::memory_order_relaxed, between_looks, limit)) {
      if (take(*found, 0)) return true;
    }
    return false;
  }

  /// For a waiter that was unparked or is late. Takes the mutex if it is free (true), leaves the
  /// queue if late (false), or goes on waiting (nothing), with a spin first if `spins`.
  std::optional<bool> step_forward(waiter& self, bool is_late, bool& spins) noexcept {
    spacing between_looks;
    for (bool has_spun = false;;) {
      const std::uint64_t word = seize();
      waiter* const head = head_of(word);
      if (!self.is_linked()) {
        publish(head, word);
        self.await_grant();
        return true;
      }
      const std::uint64_t role = self.is_active() ? active : 0;
      const bool is_free = (word & held) == 0;
      if (is_free || is_late) {
        const std::uint64_t ended = role | (head == &self ? due : 0);
        publish(waiter::remove(head, self), (word & ~ended) | held);
        return is_free;
      }
      // Unparked, so the first in the queue.
      const auto left = time_to_barge(&self);
      spins = left.count() <= 0;
      if (spins || has_spun) {
        spins ? self.watch() : self.fall_asleep();
        publish(head, (word & ~role) | (spins ? due : 0));
        return std::nullopt;
      }
      publish(head, word);
      // relaxed(revalidated): seize() reads the word again.
      has_spun =
          !W::await(word_, &is_open, std::memory_order_relaxed, between_looks, W::spin_limit(left));
    }
  }

  atomic<W, std::uint64_t> word_{0};
};

using fair_mutex = basic_fair_mutex<>;

}  // namespace lockyard::inline v0
