// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/fair_queue.hpp>
#include <lockyard/detail/fair_word.hpp>
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
/// Guarantees: mutual exclusion; no lost wake-up (below). strict: first in, first out. patient:
///   when the first in the queue has been first for the patience, is awake and has seen so, the
///   next unlock hands it the mutex; if it is not awake, a running thread makes room for it, and
///   after twice the patience an unlock that reads the clock hands it the mutex in its sleep. Every
///   unlock reads the clock while no waiter is active, otherwise one in 16, at random. barging: no
///   bound. Not recursive. Not safe between a thread and its own signal handler. After fork, held
///   by the forking thread alone, with an empty queue. The next owner may destroy the mutex as soon
///   as it holds it (I4). Within one process only. A thread that is preempted while it changes the
///   queue (tens of nanoseconds) holds up the others, which spin and yield meanwhile; before the
///   wake that follows, it holds up the thread that it wakes.
/// Size: 8 bytes. All zero bytes are the free state. word_ is the first in the queue, and flags
///   (fair_word.hpp).
///
/// I1: while a waiter is in the queue, the mutex is held or active. closed implies held or active.
/// I2: only under busy does a waiter join or leave the queue, an active waiter cease to be one
///   without the mutex, and closed change. Under busy the word changes by publish() alone.
/// I3: `active` stands for one thread: the first in the queue, if its node says so, or a newcomer
///   in spin_as_active_waiter(). A thread that is unparked is the first in the queue and is active.
///   An active waiter sleeps only while the mutex is held and closed, until the next unlock. While
///   the mutex is free and closed, the first in the queue is active.
/// I4: a releaser's last touch of the mutex is its compare-exchange or publish(); of a granted node
///   the exchange after it, of an unparked node the last access before it; to wake, it uses the
///   address alone. A waiter leaves its stack after it has read granted, or has taken itself out
///   under busy. So neither is touched after its end (`lockyard check`, client sizes 2x1d, 3x1w).
/// No lost wake-up: a waiter sleeps only if the kernel finds asleep in its node, compared and
/// enqueued in one step against every wake; the thread that replaces asleep wakes. An unlock cannot
/// miss a queue, because its compare-exchange expects the word without a queue, or active, and
/// not closed; otherwise it grants or unparks under busy, unless a waiter is active. An active
/// waiter gives the role back under busy and only while the mutex is held, so the unlock to come
/// finds no active waiter and unparks one. Without the wake grants_to_sleepers_in_order_of_arrival
/// and every check of two threads hang.
template <world W = default_world, handoff_policy Policy = handoff_policy::patient,
          std::uint32_t PatienceUs = 200>
class LOCKYARD_CAPABILITY basic_fair_mutex
    : public detail::timed_lock<basic_fair_mutex<W, Policy, PatienceUs>, W> {
  static constexpr bool strict = Policy == handoff_policy::strict;

 public:
  constexpr basic_fair_mutex() noexcept = default;
  basic_fair_mutex(const basic_fair_mutex&) = delete;
  basic_fair_mutex& operator=(const basic_fair_mutex&) = delete;

  /// If patient: how long threads may barge past the first in the queue if it is awake; past one
  /// that sleeps, twice as long. A turn of the queue costs a few context switches, which this time
  /// has to outweigh; n waiters take n turns.
  static constexpr std::chrono::microseconds patience{PatienceUs};

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex, sleeping while it is held, or to leave a processor to the first
  /// in the queue; may spin briefly before.
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
  /// While a thread is in the queue or changes it, it may also fail if the mutex is free; where
  /// strict, the mutex is never free while a thread is in the queue.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: hands the mutex to a waiter, or frees it; wakes a sleeper that it grants or unparks.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free if no thread changes the queue, and the queue is empty, or a waiter is
  /// active, the mutex is not closed and this unlock does not read the clock; otherwise as for
  /// entering the queue.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    std::uint64_t found = held;
    if (!word_.release(found)) [[unlikely]]
      unlock_with_waiters(found);
  }

 private:
  friend detail::timed_lock<basic_fair_mutex, W>;

  using waiter = detail::fair_waiter<W, Policy == handoff_policy::patient>;
  using fair_word = detail::fair_word<W, waiter, strict>;
  static constexpr std::uint64_t held = fair_word::held, active = fair_word::active,
                                 closed = fair_word::closed;

  /// Catches short holds soon, and leaves the line to an owner that comes back at once.
  using spacing = wait_policies::backing_off<128, 8192>;

  /// Returns how long threads may still barge past the first in the queue if it is awake.
  static std::chrono::nanoseconds time_to_barge(const waiter* first) noexcept {
    if (Policy != handoff_policy::patient || first == nullptr) {
      return std::chrono::nanoseconds::max();
    }
    return patience - first->length_of_turn();
  }

  /// Whether an unlock that need not read the clock does so: a clock read costs as much as a short
  /// section.
  static bool looks_at_clock() noexcept {
    constexpr std::uint32_t unlocks_per_look = 16;
    return Policy == handoff_policy::patient && W::random() % unlocks_per_look == 0;
  }

  /// Not cold: while a waiter is active, owners come and go here.
  [[gnu::noinline]] void unlock_with_waiters(std::uint64_t found) noexcept {
    if (!fair_word::is_left_to_active(found) || looks_at_clock() || !word_.leave_to_active(found)) {
      unlock_under_busy();
    }
  }

  [[gnu::noinline, gnu::cold]] void unlock_under_busy() noexcept {
    const std::uint64_t word = word_.seize();
    waiter* const head = fair_word::head_of(word);
    const bool is_due = head != nullptr && (word & closed) != 0;
    const auto left = is_due ? -patience : time_to_barge(head);
    if (left <= -patience) {
      hand_off(head, word);
      return;
    }
    std::uint64_t mark = word & active;
    const atomic<W, std::uint32_t>* sleeper = nullptr;
    if (head != nullptr && mark == 0) {
      sleeper = head->unpark();
      mark = active;
    }
    if (left.count() <= 0 && head->needs_room()) {
      head->give_room();
      mark |= closed;
    }
    word_.publish(head, mark);
    waiter::wake(sleeper);
  }

  /// The mutex stays closed until an owner that sleeps has woken up: newcomers leave it a
  /// processor.
  void hand_off(waiter* head, std::uint64_t word) noexcept {
    const std::uint64_t others = head->is_active() ? 0 : word & active;
    const std::uint64_t shut = strict || head->is_awake() ? 0 : closed;
    word_.publish(waiter::remove(head, *head), held | others | shut);
    head->grant();
  }

  /// Lets threads barge again after a handoff to the caller, the new owner.
  void reopen() noexcept {
    if (strict || !word_.may_be_closed()) return;
    const std::uint64_t word = word_.seize();
    waiter* const head = fair_word::head_of(word);
    const bool waits_for_handoff = head != nullptr && head->is_active();
    // Its turn began while no thread could barge: without this, each turn would be over by now
    // wherever other programs keep this thread off its processor for long.
    if (head != nullptr && !waits_for_handoff) head->begin_turn();
    word_.publish(head, waits_for_handoff ? word : word & ~closed);
  }

  // Waiting

  bool take() noexcept { return word_.take(); }
  bool take_until(typename W::deadline limit) noexcept { return wait_in_line(limit); }

  /// Returns whether it acquired the mutex; without a limit it always does.
  [[gnu::noinline, gnu::cold]] bool wait_in_line(typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    if (!strict && spin()) return true;
    waiter self;
    if (enter(self)) return true;
    for (bool spins = strict;;) {
      const auto news = self.await_news(spins, limit);
      const auto acquired = news == waiter::granted
                                ? std::optional{true}
                                : step_forward(self, news == waiter::asleep, spins);
      if (!acquired) continue;
      if (*acquired) reopen();
      return scope.result(*acquired);
    }
  }

  /// A newcomer's spin, until spinning cannot help, or the queue lacks an active waiter.
  bool spin() noexcept {
    const auto is_news = [](std::uint64_t word) noexcept {
      return fair_word::is_open(word) || fair_word::shuts_out(word) ||
             fair_word::lacks_active_waiter(word);
    };
    return spin_until(is_news, active, W::spin_limit());
  }
  /// Returns whether it took the mutex; of the other flags, keeps those in `kept`.
  template <class News>
  bool spin_until(News is_news, std::uint64_t kept, typename W::deadline limit) noexcept {
    spacing between_looks;
    while (const auto found = word_.await(is_news, between_looks, limit)) {
      if (!fair_word::is_open(*found)) return false;
      if (word_.take(*found, kept)) return true;
    }
    return false;
  }

  /// Takes the mutex if it is free (true), or puts `self` in the queue; before, spins as the active
  /// waiter if there is none.
  bool enter(waiter& self) noexcept {
    std::uint64_t word = word_.seize();
    waiter* head = fair_word::head_of(word);
    auto left = time_to_barge(head);
    std::uint64_t role = 0;
    if (fair_word::lacks_active_waiter(word) && (word & closed) == 0 && left.count() > 0) {
      role = active;
      word_.publish(head, held | active);
      if (spin_as_active_waiter(left)) return true;
      word = word_.seize();
      head = fair_word::head_of(word);
      left = time_to_barge(head);
    }
    std::uint64_t mark = word & ~role;
    if ((word & (held | closed)) == 0) {
      word_.publish(head, mark | held);
      return true;
    }
    if ((word & held) == 0) {  // I3: the first in the queue has the role, not this thread
      enqueue(head, self, mark & ~closed);
      return false;
    }
    const atomic<W, std::uint32_t>* sleeper = nullptr;
    if (left.count() <= 0 && (word & closed) == 0) {
      if ((mark & active) == 0) sleeper = head->unpark();
      mark |= left <= -patience ? active | closed : active;
      if (head->is_active()) head->give_room();
    }
    enqueue(head, self, mark);
    waiter::wake(sleeper);
    return false;
  }

  void enqueue(waiter* head, waiter& self, std::uint64_t mark) noexcept {
    if (strict) self.watch();
    word_.publish(waiter::append(head, self), mark);
  }

  /// Spins as the waiter on which unlock relies; returns whether it took the mutex.
  bool spin_as_active_waiter(std::chrono::nanoseconds most) noexcept {
    const auto is_news = [](std::uint64_t word) noexcept {
      return fair_word::is_open(word) || (word & closed) != 0;
    };
    return spin_until(is_news, 0, W::spin_limit(most));
  }

  /// For a waiter that was unparked or is late. Takes the mutex if it is free (true), leaves the
  /// queue if late (false), or goes on waiting (nothing), with a spin first if `spins`.
  std::optional<bool> step_forward(waiter& self, bool is_late, bool& spins) noexcept {
    spacing between_looks;
    for (bool has_spun = false;;) {
      const std::uint64_t word = word_.seize();
      waiter* const head = fair_word::head_of(word);
      if (!self.is_linked()) {
        word_.publish(head, word);
        self.await_grant();
        return true;
      }
      const std::uint64_t role = self.is_active() ? active : 0;
      const bool is_free = (word & held) == 0;
      if (is_free || is_late) {
        const std::uint64_t ended = role | (head == &self ? closed : 0);
        word_.publish(waiter::remove(head, self), (word & ~ended) | held);
        return is_free;
      }
      // Unparked, so the first in the queue.
      const auto left = time_to_barge(&self);
      spins = left.count() <= 0;
      if (spins || has_spun) {
        spins ? self.watch() : self.fall_asleep();
        word_.publish(head, spins ? word | closed : word & ~role);
        return std::nullopt;
      }
      self.watch();
      word_.publish(head, word);
      has_spun = !word_.await(&fair_word::is_open, between_looks, W::spin_limit(left));
    }
  }

  fair_word word_;
};

using fair_mutex = basic_fair_mutex<>;

}  // namespace lockyard::inline v0
