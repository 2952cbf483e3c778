// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/adaptive_spin.hpp>
#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace lockyard::inline v0 {

/// The step of an event_count's await() before the sleep.
enum class idle_policy : std::uint8_t {
  sleep,  ///< nothing
  spin,   ///< spins for as long as a sleep would cost, if recent waits were that short
};

/// Lets threads sleep until a condition of the program holds: a queue is not empty, a counter has
/// reached a value. The thread that makes it true notifies, which costs a load and a comparison
/// while no thread waits. docs/events/event_count.md explains it in detail.
///
/// Use: for the idle threads of a pool, and to add sleeping to a lock-free structure. Where the
///   condition is under a mutex, use a condition variable; where it is a mere flag, an event.
/// Source: D. Reed and R. Kanodia (1979) for the name; D. Vyukov's eventcount for the protocol of
///   prepare, cancel and commit; the barrier on the waiter's side as in basic_mutex.
/// Guarantees: no lost wake-up (below). notify_one() ends the wait of the oldest sleeper, and the
///   waits of threads between prepare and commit. A wait may end for no reason. After fork the
///   child has no waiters. A signal handler must not use it. Must outlive every call of its
///   members. Within one process.
/// Size: 8 bytes, 12 with idle_policy::spin. All zero bytes are the state without waiters.
///
/// | word | meaning |
/// |---|---|
/// | epoch_ | the number of notifications that found waiters, modulo 2^32 |
/// | waiters_, bit 0 | open: notify may leave its fence out: waiters have had their barriers |
/// | waiters_, bit 1 | armed: such a barrier has completed since the count was last 0 |
/// | waiters_, bits 2 to 31 | the number of threads between prepare and the end of their wait |
///
/// I1 A thread is counted before it looks at the condition for the last time, and between the two
///    there is a barrier on all cores, or, if armed, an acquire fence.
/// I2 The last waiter clears `armed`. So while `armed` is set, a notifier that reads the count
///    after the barrier finds waiters; and if a notifier read the count before the barrier, its own
///    store is visible after the barrier, which happens before the look of every thread that finds
///    `armed`.
/// No lost wake-up: by I1 and I2 either the waiter sees the condition, or the notifier, which makes
/// it true before it reads the count, sees that the count is not 0. Then it changes epoch_ and
/// takes the bucket lock. The waiter compares epoch_ with its key under the bucket lock: it goes
/// on, or has linked its node before, and the notifier finds that node. Only if 2^32 notifications
/// fall between a prepare and its commit does a key look new. Where the barrier is unavailable the
/// waiter looks again every millisecond. Lifetime of nodes: N1 to N3 of parking_lot.hpp. Clients
/// event_count*; the mutants event_count_* hang without the barrier, the fence, I2, the key, or
/// when it is opened in error.
template <world W = default_world, idle_policy Policy = idle_policy::sleep>
class basic_event_count {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;

 public:
  /// The state that a prepared wait has seen.
  class key {
    friend basic_event_count;
    key(std::uint32_t epoch, bool is_covered) noexcept : epoch_{epoch}, is_covered_{is_covered} {}
    std::uint32_t epoch_;
    bool is_covered_;  ///< no notifier can miss this waiter
  };

  constexpr basic_event_count() noexcept = default;
  basic_event_count(const basic_event_count&) = delete;
  basic_event_count& operator=(const basic_event_count&) = delete;

  // Functions for threads that make the condition true

  /// Precondition: an atomic object has made the condition true.
  /// Effects: ends the wait of at least one thread if one waits.
  /// Synchronisation: everything done before happens before the return of the waits that it ends.
  /// Progress: wait-free while no thread waits; otherwise it may wait for the bucket lock, and
  /// makes one system call.
  void notify_one() noexcept {
    if (is_awaited()) [[unlikely]]
      wake_up_to(1);
  }

  /// As notify_one(), for all waiters; a system call for each sleeper, with no bucket lock held.
  void notify_all() noexcept {
    if (is_awaited()) [[unlikely]]
      wake_up_to(UINT32_MAX);
  }

  // Functions for threads that wait for the condition

  /// Effects: declares that this thread may wait. The thread must then look at the condition, and
  /// then call cancel_wait() if it holds, or commit_wait*() if not; nothing else of this object in
  /// between. Progress: wait-free except for the system call.
  [[nodiscard]] key prepare_wait() noexcept {
    const std::uint32_t before = count_in();
    return cover(before);
  }

  /// Precondition: this thread has prepared to wait. Effects: withdraws from the wait.
  void cancel_wait() noexcept { count_out(1); }

  /// Precondition: this thread has prepared to wait, with this key, and has not seen the condition
  /// hold since.
  /// Effects: sleeps until a notification that came after the preparation. May return for no
  /// reason. Synchronisation: everything done before that notification happens before the return.
  void commit_wait(key prepared) noexcept { static_cast<void>(sleep(prepared)); }

  /// Does the same, for at most `duration` or until `limit`; returns false if that ended it.
  template <class Rep, class Period>
  bool commit_wait_for(key prepared, const std::chrono::duration<Rep, Period>& duration) noexcept {
    return sleep(prepared, W::deadline_after(detail::to_nanoseconds(duration)));
  }
  template <class Clock, class Duration>
  bool commit_wait_until(key prepared,
                         const std::chrono::time_point<Clock, Duration>& limit) noexcept {
    // A steady clock that runs slow makes a time-out a return for no reason.
    const detail::limit_by<W, Clock, Duration> end{limit};
    return sleep(prepared, end.deadline(end.left())) || end.left().count() != 0;
  }

  /// Effects: returns when `holds()` has returned true, which this thread calls any number of
  /// times; sleeps meanwhile. Preconditions: it throws nothing; a thread that makes it true does so
  /// by an atomic object, and then notifies.
  template <std::predicate Condition>
  void await(Condition holds) noexcept {
    static_cast<void>(await_or_leave(holds));
  }

  /// Does the same, for at most `duration` or until `limit`; returns whether it held.
  template <class Rep, class Period, std::predicate Condition>
  [[nodiscard]] bool await_for(const std::chrono::duration<Rep, Period>& duration,
                               Condition holds) noexcept {
    return holds() || detail::wait_within<W>(duration, await_by(holds));
  }
  template <class Clock, class Duration, std::predicate Condition>
  [[nodiscard]] bool await_until(const std::chrono::time_point<Clock, Duration>& limit,
                                 Condition holds) noexcept {
    return holds() || detail::wait_up_to<W>(limit, await_by(holds));
  }

 private:
  static constexpr auto kind = detail::waiter_kind::event_count;
  static constexpr std::uint32_t open = 1, armed = 2, one = 4;

  // The notifier's side

  bool is_awaited() noexcept {
    // Where the process is not registered the word is not `open`, and there is another look.
    W::asymmetric_fence_light(W::registered);
    // relaxed(fence): the light fence, and the waiter's heavy one.
    return waiters_.load(std::memory_order_relaxed) != open && is_awaited_or_closed();
  }
  /// Opens the event count if that is possible.
  [[gnu::noinline, gnu::cold]] bool is_awaited_or_closed() noexcept {
    W::asymmetric_fence_light();
    // relaxed(fence): the light fence, and the waiter's heavy one.
    const std::uint32_t found = waiters_.load(std::memory_order_relaxed);
    if (found == 0 && W::asymmetric_fence_register()) {
      // relaxed(hint): a notifier that misses it has a fence that it does not need.
      waiters_.fetch_or(open, std::memory_order_relaxed);
    }
    return found >= one;
  }

  void change_epoch() noexcept {
    // order[changed]: release; pairs [prepared, committed, watched]; publishes the condition.
    epoch_.fetch_add(1, std::memory_order_release);
  }

  [[gnu::noinline, gnu::cold]] void wake_up_to(std::uint32_t most) noexcept {
    change_epoch();
    lot::wake_up_to(most, this, kind, [this](bool /*is_last*/) { count_out(1); });
  }

  // The waiter's side

  /// Returns the earlier word.
  std::uint32_t count_in() noexcept {
    // relaxed(fence): the barrier that follows orders it.
    return waiters_.fetch_add(one, std::memory_order_relaxed);
  }

  void count_out(std::uint32_t count) noexcept {
    // relaxed(revalidated): the compare-exchange checks it.
    std::uint32_t found = waiters_.load(std::memory_order_relaxed);
    std::uint32_t less = 0;
    do {
      assert(found >= count * one && "lockyard::event_count: a wait ends that was not prepared");
      less = found - count * one;
      if (less < one) less &= open;
      // relaxed(fence): by I2 a notifier that finds 0 needs no order, and one that counts has a
      // fence.
    } while (!waiters_.compare_exchange_weak(found, less, std::memory_order_relaxed,
                                             std::memory_order_relaxed));
  }

  /// Makes sure that every notifier from now on sees that this thread is counted, or makes its
  /// condition seen.
  key cover(std::uint32_t before) noexcept {
    bool is_covered = true;
    if ((before & armed) != 0) {
      // order[covered]: acquire; pairs [kernel]; the stores of notifiers before the barrier of the
      // thread that armed the count are seen; later notifiers find that the count is not 0 (I2).
      W::fence(std::memory_order_acquire);
    } else {
      is_covered = W::asymmetric_fence_heavy();
      if (is_covered) {
        // relaxed(fence): a thread that finds it set has a fence of its own behind the look.
        waiters_.fetch_or(armed, std::memory_order_relaxed);
      } else {
        // relaxed(hint): a notifier that misses it was already under way.
        waiters_.fetch_and(~open, std::memory_order_relaxed);
      }
    }
    // order[prepared]: acquire; pairs [changed]; seeing a notification means seeing its condition.
    return {epoch_.load(std::memory_order_acquire), is_covered};
  }

  /// Returns false if the deadline ended it.
  [[gnu::noinline, gnu::cold]] bool sleep(key prepared,
                                          typename W::deadline limit = W::never) noexcept {
    bucket& home = lot::bucket_of(this);
    node self{this, kind, {}};  // all came at the same time: in the order in which they are linked
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    // order[committed]: acquire; pairs [changed]; all that came before the notification is seen.
    const bool is_news = epoch_.load(std::memory_order_acquire) != prepared.epoch_;
    if (!is_news) home.link(self);
    home.bucket_lock().unlock();
    const auto left = [this] { count_out(1); };
    if (is_news) {
      left();
    } else if (prepared.is_covered_) {
      return lot::sleep(home, self, left, limit) != wake_reason::none;
    } else {
      // A notifier under way may have missed this thread.
      const wake_reason reason =
          lot::sleep(home, self, left, W::deadline_after(std::chrono::milliseconds{1}));
      return reason != wake_reason::none || !W::passed(limit);
    }
    return true;
  }

  template <class Condition>
  auto await_by(Condition& holds) noexcept {
    return [this, &holds](typename W::deadline limit) { return await_or_leave(holds, limit); };
  }

  template <class Condition>
  bool await_or_leave(Condition& holds, typename W::deadline limit = W::never) noexcept {
    for (bool in_time = true; !holds();) {
      if (!in_time) return false;
      const std::uint32_t before = count_in();
      const bool spins = spin_.is_worthwhile();
      if (spins && spin()) {
        spin_.record_successful_spin();
        cancel_wait();
        continue;
      }
      const auto brief_until = spin_.brief_from_now();
      const key prepared = cover(before);
      if (holds()) {
        cancel_wait();
        return true;
      }
      in_time = sleep(prepared, limit);
      spin_.record_sleep(brief_until, spins);
    }
    return true;
  }

  /// Returns whether a notification came. Without a barrier a notification may miss this thread:
  /// then the spin is too long, and no more.
  bool spin() noexcept {
    // relaxed(hint): a change before this look is found behind the barrier.
    const std::uint32_t seen = epoch_.load(std::memory_order_relaxed);
    const auto is_news = [seen](std::uint32_t epoch) noexcept { return epoch != seen; };
    // order[watched]: acquire; pairs [changed]; as [committed].
    return W::await(epoch_, is_news, std::memory_order_acquire, wait_policies::pausing{},
                    W::spin_limit())
        .has_value();
  }

  atomic<W, std::uint32_t> epoch_{0};
  atomic<W, std::uint32_t> waiters_{0};
  using spinning =
      std::conditional_t<Policy == idle_policy::spin, detail::adaptive_spin<W>, detail::no_spin>;
  [[no_unique_address]] spinning spin_;
};

using event_count = basic_event_count<>;
using spinning_event_count = basic_event_count<default_world, idle_policy::spin>;

}  // namespace lockyard::inline v0
