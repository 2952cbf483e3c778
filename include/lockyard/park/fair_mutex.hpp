// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
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
  awake,    ///< the first in the queue that spins; the first of all if none does or it is due
  barging,  ///< any thread that arrives; the first in the queue is told to come
};

/// A mutex with a queue of waiters, first come, first served, in nodes on their own stacks.
///
/// Use: where every thread has to get its share. With more threads than cores each turn costs a
///   switch of threads, which is the price of any order; only barging avoids it.
/// Source: Windows' slim lock (a word with a list of stack nodes and a bit that locks it) and K42.
/// Guarantees: mutual exclusion; no lost wake-up (below). strict: first in, first out. awake: later
///   waiters barge past a waiter at most `most_overtakes` times. barging: no bound. Not recursive.
///   Not safe between a thread and its own signal handler. After fork, held by the forking thread
///   alone, with an empty queue. The next owner may destroy the mutex as soon as it holds it (I3).
///   Within one process only. A thread that is preempted while it changes the queue (tens of
///   nanoseconds) holds up the others, which spin and yield meanwhile.
/// Size: 8 bytes. All zero bytes are the free state. word_ is the first in the queue, and flags:
///
/// | flag | meaning |
/// |---|---|
/// | held | owned |
/// | busy | a thread changes the queue; no other thread changes the word until it is done |
/// | `roused` | the owner may have slept when it was handed the mutex (awake only; a hint) |
///
/// I1: while a waiter is in the queue the mutex is held, or, if barging, the first waiter is
///   called. Only under busy does a waiter join or leave the queue, or held fall while a waiter is
///   queued.
/// I2: its waiter alone writes watching and asleep to a node, asleep by an exchange that returns
///   the earlier state. A releaser alone writes called, under busy, and granted, once, to a node
///   that it took out under busy.
/// I3: a releaser's last touch of the mutex is publish(), of a granted node the exchange after it;
///   to wake, it uses the address alone. A waiter leaves its stack after it has read granted or
///   taken itself out. So neither is touched after its end (`lockyard check`, client sizes 2x1d,
///   3x1w).
/// No lost wake-up: a waiter sleeps only if the kernel finds asleep in its node, compared and
/// enqueued in one step against every wake; the thread that replaces asleep wakes. An unlock cannot
/// miss a queue, because its compare-exchange expects held alone; by I1 it then grants or calls. A
/// called waiter looks under busy: the mutex is free and taken, or held, and its owner will call
/// again. Without the wake grants_to_sleepers_in_order_of_arrival and every check of two threads
/// hang.
template <world W = default_world, handoff_policy Policy = handoff_policy::awake>
class LOCKYARD_CAPABILITY basic_fair_mutex
    : public detail::timed_lock<basic_fair_mutex<W, Policy>, W> {
  static constexpr bool barging = Policy == handoff_policy::barging;

 public:
  constexpr basic_fair_mutex() noexcept = default;
  basic_fair_mutex(const basic_fair_mutex&) = delete;
  basic_fair_mutex& operator=(const basic_fair_mutex&) = delete;

  /// The number of times that later waiters can barge past a waiter unless barging. Small, because
  /// the gain comes soon, and larger numbers make the shares of the threads uneven.
  static constexpr std::uint32_t most_overtakes = Policy == handoff_policy::awake ? 8 : 0;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex, sleeping while it is held; may spin briefly before.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: deadlock-free, and unless barging starvation-free once in the queue, provided the
  /// scheduler lets threads that change the queue go on. Threads enter the queue by a race for
  /// busy, which a thread may lose any number of times.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take_free()) [[unlikely]]
      wait_in_line();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free and no thread is in the
  /// queue, if barging if it is free. Returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: lock-free, and
  /// wait-free unless barging.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: hands the mutex to a waiter, or frees it; wakes a sleeper that it grants or calls.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free if no thread is in the queue or changes it, and the caller was not handed
  /// the mutex as a sleeper (`roused`); otherwise as for entering the queue.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    std::uint64_t expected = held;
    // (word)  held -> 0
    // order[unlock]: release; pairs [take, barge, seize]; publishes the critical section.
    // relaxed(hint): after a failure the word is read anew.
    if (!word_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_contended();
    }
  }

 private:
  friend detail::timed_lock<basic_fair_mutex, W>;

  static constexpr std::uint64_t held = 1, busy = 2, roused = 4, flags = held | busy | roused;

  // The state of a waiter, and the news for it.
  static constexpr std::uint32_t watching = 0, asleep = 1, called = 2, granted = 3;

  struct alignas(8) waiter {
    atomic<W, std::uint32_t> state{watching};
    // Under busy alone. The queue is a ring; `next` is null out of the queue.
    var<W, std::uint32_t> overtaken{0};
    var<W, waiter*> next{nullptr};
    var<W, waiter*> previous{nullptr};
  };
  static_assert(alignof(waiter) > flags);

  bool take_free() noexcept {
    std::uint64_t found = 0;
    // (word)  0 -> held
    // order[take]: acquire; pairs [unlock, publish]; the critical section starts after the last.
    // relaxed(hint): a failure promises nothing.
    return word_.compare_exchange_strong(found, held, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  bool take() noexcept {
    if constexpr (barging) {
      // relaxed(revalidated): by the compare-exchange.
      std::uint64_t found = word_.load(std::memory_order_relaxed);
      while ((found & flags) == 0) {
        // (word)  line -> line|held,  0 -> held
        // order[barge]: acquire; pairs [unlock, publish]; as in [take].
        // relaxed(revalidated): the next turn compares the value found.
        if (word_.compare_exchange_strong(found, found | held, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
          return true;
        }
      }
      return false;
    } else {
      return take_free();
    }
  }

  // The queue

  static waiter* head_of(std::uint64_t word) noexcept {
    return reinterpret_cast<waiter*>(static_cast<std::uintptr_t>(word & ~flags));
  }

  /// Sets busy; returns the word as it was before.
  std::uint64_t seize() noexcept {
    for (;;) {
      // (word)  line|x -> line|x|busy
      // order[seize]: acquire; pairs [unlock, publish]; the queue as its last user left it, and the
      // critical section.
      const std::uint64_t word = word_.fetch_or(busy, std::memory_order_acquire);
      if ((word & busy) == 0) return word;
      const auto is_open = [](std::uint64_t value) { return (value & busy) == 0; };
      // relaxed(revalidated): the next turn takes it or not.
      W::await(word_, is_open, std::memory_order_relaxed,
               wait_policies::pausing_then_yielding<64>{});
    }
  }

  /// Ends what seize() began: by a store, because no other thread writes meanwhile.
  void publish(waiter* head, std::uint64_t mark) noexcept {
    // (word)  busy|... -> line|mark
    // order[publish]: release; pairs [take, barge, seize]; publishes the queue, and with held clear
    // the critical section.
    word_.store(reinterpret_cast<std::uintptr_t>(head) | mark, std::memory_order_release);
  }

  /// Puts `self` at the end; returns the first waiter.
  static waiter* append(waiter* head, waiter& self) noexcept {
    if (head == nullptr) head = &self;
    waiter* const last = head == &self ? &self : head->previous.read();
    self.next.write(head);
    self.previous.write(last);
    last->next.write(&self);
    head->previous.write(&self);
    return head;
  }

  /// Takes `self` out, wherever it stands; returns the first of the remaining waiters.
  static waiter* remove(waiter* head, waiter& self) noexcept {
    waiter* const next = self.next.read();
    self.next.write(nullptr);
    if (next == &self) return nullptr;
    self.previous.read()->next.write(next);
    next->previous.write(self.previous.read());
    return head == &self ? next : head;
  }

  /// Returns the waiter that may barge past earlier ones; null if the first is due, or no waiter
  /// spins. A barge counts for all before the chosen waiter, so no count is higher than its
  /// predecessor's.
  static waiter* first_spinning(waiter& head) noexcept {
    if (head.overtaken.read() >= most_overtakes) return nullptr;
    waiter* chosen = &head;
    // relaxed(hint): a waiter that has gone to sleep meanwhile is woken.
    while (chosen->state.load(std::memory_order_relaxed) != watching) {
      chosen = chosen->next.read();
      if (chosen == &head) return nullptr;
    }
    for (waiter* each = &head; each != chosen; each = each->next.read()) {
      each->overtaken.write(each->overtaken.read() + 1);
    }
    return chosen;
  }

  [[gnu::noinline, gnu::cold]] void unlock_contended() noexcept {
    waiter* const head = head_of(seize());
    if (head == nullptr) {  // the waiters have left
      publish(nullptr, 0);
    } else if constexpr (barging) {
      // (state)  any -> called;  (word)  line|held|busy -> line
      // relaxed(locked): a called waiter looks at the word, which carries the order.
      const bool sleeps = head->state.exchange(called, std::memory_order_relaxed) == asleep;
      publish(head, 0);
      if (sleeps) W::wake(head->state, 1);
    } else {
      waiter* const spinner = first_spinning(*head);
      waiter& next = spinner != nullptr ? *spinner : *head;
      publish(remove(head, next), spinner != nullptr ? held : held | roused);
      // (state)  watching, asleep -> granted
      // order[grant]: release; pairs [watched, falling_asleep, woken, chosen]; publishes
      // the critical section.
      if (next.state.exchange(granted, std::memory_order_release) == asleep) {
        W::wake(next.state, 1);
      }
    }
  }

  // Waiting

  bool take_until(typename W::deadline limit) noexcept { return wait_in_line(limit); }

  /// Returns whether it acquired the mutex; without a limit it always does.
  [[gnu::noinline, gnu::cold]] bool wait_in_line(typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    const std::uint64_t word = seize();
    if ((word & held) == 0) {
      publish(head_of(word), held);
      return true;
    }
    waiter self;
    waiter* const head = append(head_of(word), self);
    // The first in the queue is next, and spins. With the policy awake others spin too and may
    // barge; but not if the first is due, and not if the owner has yet to wake up, for which it
    // needs a processor.
    bool spins = head == &self;
    if constexpr (Policy == handoff_policy::awake) {
      spins |= (word & roused) == 0 && head->overtaken.read() < most_overtakes;
    }
    // relaxed(unpublished): no other thread knows the node before publish().
    if (!spins) self.state.store(asleep, std::memory_order_relaxed);
    publish(head, word & (held | roused));
    for (;;) {
      const std::uint32_t news = await_news(self, spins, limit);
      if (news == granted) return true;
      if (const auto acquired = step_forward(self, news == asleep)) return scope.result(*acquired);
      spins = true;
    }
  }

  /// Spins if told to, then sleeps. Returns called, granted, or, past the deadline, asleep.
  static std::uint32_t await_news(waiter& self, bool spins, typename W::deadline limit) noexcept {
    if (spins) {
      const auto is_news = [](std::uint32_t state) { return state != watching; };
      // order[watched]: acquire; pairs [grant]; the critical section starts after the last.
      const auto news = W::await(self.state, is_news, std::memory_order_acquire,
                                 wait_policies::pausing{}, W::spin_limit());
      if (news) return *news;
      // (state)  watching -> asleep;  any other state is news, and overwritten because no thread
      // reads it again.
      // order[falling_asleep]: acquire; pairs [grant]; as in [watched], if the grant came first.
      const std::uint32_t state = self.state.exchange(asleep, std::memory_order_acquire);
      if (state != watching) return state;
    }
    for (;;) {
      const bool late = W::wait(self.state, asleep, limit) == W::wait_result::timed_out;
      // order[woken]: acquire; pairs [grant]; as in [watched].
      const std::uint32_t state = self.state.load(std::memory_order_acquire);
      if (state != asleep || late) return state;
    }
  }

  /// For a waiter that was called or is late: takes the mutex if it is its turn (true), leaves the
  /// queue if it is late (false), or goes on watching (nothing).
  std::optional<bool> step_forward(waiter& self, bool is_late) noexcept {
    const std::uint64_t word = seize();
    waiter* const head = head_of(word);
    if constexpr (!barging) {
      if (self.next.read() == nullptr) {
        publish(head, word & (held | roused));
        const auto is_granted = [](std::uint32_t state) { return state == granted; };
        // order[chosen]: acquire; pairs [grant]; as in [watched]. The thread that took this waiter
        // out of the queue is about to grant.
        W::await(self.state, is_granted, std::memory_order_acquire,
                 wait_policies::pausing_then_yielding<64>{});
        return true;
      }
    }
    const bool is_free = (word & held) == 0;
    if (is_free || is_late) {
      publish(remove(head, self), held | (word & roused));
      return is_free;
    }
    // relaxed(locked): a thread calls only under busy.
    self.state.store(watching, std::memory_order_relaxed);
    publish(head, held);
    return std::nullopt;
  }

  atomic<W, std::uint64_t> word_{0};
};

using fair_mutex = basic_fair_mutex<>;

}  // namespace lockyard::inline v0
