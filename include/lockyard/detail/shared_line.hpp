// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/shared_word.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The word of a basic_shared_mutex with all operations on it, and the lock's queues of sleepers in
/// the parking lot. shared_mutex.hpp has the table of states, and the argument that no wake-up is
/// lost.
template <world W>
class shared_line : shared_word {
  using lot = parking_lot<unwatched<W>>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  using wake_list = typename lot::wake_list;

 public:
  using shared_word::request;

  /// How long newcomers may barge past the sleeping writers of a bucket before the lock is handed
  /// off to one of these writers.
  static constexpr std::chrono::microseconds patience{500};

  /// Acquires the lock for a writer if the word is 0, which means that the lock is free, and no
  /// thread sleeps for it or is counted in it; returns whether it did.
  bool take_free() noexcept {
    std::uint32_t expected = 0;
    // (word)  0 -> written
    // order[take_free]: acquire; pairs [free, leave, give_up, redistribute]; starts after the
    // critical sections of all earlier owners.
    // relaxed(hint): a failure guarantees nothing.
    return word_.compare_exchange_strong(expected, written, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// Releases the lock of a writer. Returns false, without any effect, if a thread sleeps for the
  /// lock or is counted in the word.
  bool free() noexcept {
    std::uint32_t expected = written;
    // (word)  written -> 0
    // order[free]: release; pairs [take_free, enter, take, enqueue, redistribute]; publishes
    // the critical section.
    // relaxed(hint): after a failure the word is read again.
    return word_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// Counts a reader, and returns whether it has acquired the lock. If not, the reader is counted
  /// all the same, and has to call leave().
  bool enter() noexcept {
    // (word)  any -> + reader
    // order[enter]: acquire; pairs [free, give_up, redistribute]; starts after the last writer.
    const std::uint32_t found = word_.fetch_add(reader, std::memory_order_acquire);
    return (found & blocked_by(request::read)) == 0;
  }

  /// Releases the lock of a reader. Returns true if the caller has to call look_after(), because it
  /// was the last reader and a writer sleeps.
  [[nodiscard]] bool leave() noexcept {
    // (word)  any -> - reader
    // order[leave]: release; pairs [take_free, take, enqueue, redistribute]; publishes the
    // critical section.
    const std::uint32_t found = word_.fetch_sub(reader, std::memory_order_release);
    return (found & (readers | closed | written)) == (reader | closed);
  }

  /// Acquires the lock as requested if no owner and no flag blocks the request.
  bool take(request wanted) noexcept {
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & blocked_by(wanted)) == 0) {
      // (word)  any -> + taken_by
      // order[take]: acquire; pairs [free, leave, give_up, redistribute]; starts after the critical
      // sections of all owners whose releases made it possible.
      // relaxed(revalidated): the next iteration compares the value found.
      if (word_.compare_exchange_strong(found, found + taken_by(wanted), std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// The same where a forked child may have inherited flags from threads of its parent: acquires
  /// the bucket lock to check if only flags block the request.
  bool try_take(request wanted) noexcept {
    if (take(wanted)) return true;
    // relaxed(hint): the check under the bucket lock decides.
    const std::uint32_t found = word_.load(std::memory_order_relaxed);
    return (found & blocked_by(wanted)) == closed && take_unless_awaited(wanted);
  }

  /// Releases the lock, which was acquired as `held`; the second overload keeps it as `kept`, in
  /// one step.
  void give_up(request held, bool is_fair = false) noexcept { give_up(taken_by(held), is_fair); }
  void give_up(request held, request kept) noexcept {
    give_up(taken_by(held) - taken_by(kept), false);
  }

  /// Subtracts `released` from the word, and grants the requests of waiters that can be granted. If
  /// `released` is 0, the lock may be gone, unless a node of the lock is linked.
  void look_after(std::uint32_t released = 0, bool is_fair = false) noexcept {
    bucket& home = lot::bucket_of(&word_);
    wake_list awake;
    std::uint32_t readers_left = 0;
    home.bucket_lock().lock();
    if (released != 0 || sleepers_in(home).any()) {
      readers_left = redistribute(home, released, (released & written) != 0, is_fair, awake);
    }
    home.bucket_lock().unlock();
    awake.wake();
    let_readers_in(home, readers_left);
  }

  /// Waits until the request is granted. Returns false if there is a deadline and it passed first.
  /// Spins do not check the deadline: a time-out may be late by the length of one spin.
  bool wait_for(request wanted, typename W::deadline limit = W::never) noexcept {
    bucket& home = lot::bucket_of(&word_);
    node self{&word_, kind_of(wanted), W::now()};
    while (!spin(wanted)) {
      const std::uint32_t found = enqueue(home, self, wanted);
      if ((found & blocked_by(wanted)) == 0) return true;
      // The readers soon leave, because no new readers can come.
      if (writes(wanted) && (found & readers) != 0) self.spin(W::spin_limit());
      const wake_reason reason = sleep(home, self, limit);
      if (reason != wake_reason::retry) return reason == wake_reason::owner;
    }
    return true;
  }

 private:
  static constexpr waiter_kind kind_of(request wanted) noexcept {
    return static_cast<waiter_kind>(static_cast<std::size_t>(waiter_kind::shared) +
                                    index_of(wanted));
  }

  /// The first node for each request; null where no thread sleeps for that request.
  struct sleepers {
    std::array<node*, 4> first{};

    [[nodiscard]] bool any() const noexcept {
      return std::ranges::any_of(first, [](const node* one) { return one != nullptr; });
    }
    [[nodiscard]] line counted() const noexcept {
      line asleep;
      std::ranges::transform(first, asleep.counts.begin(), &bucket::length);
      return asleep;
    }
    /// Whether the thread that began to wait before all others requests `write`.
    [[nodiscard]] bool oldest_writes() const noexcept {
      const node* const writer = first[index_of(request::write)];
      return writer != nullptr && std::ranges::all_of(first, [writer](const node* one) {
               return one == nullptr || writer->since() <= one->since();
             });
    }
  };
  /// Returns the lock's sleepers; uses the lock's address only. Precondition: the caller holds the
  /// bucket lock.
  [[nodiscard]] sleepers sleepers_in(const bucket& home) const noexcept {
    sleepers found;
    for (const request each :
         {request::read, request::upgrade, request::write, request::write_on}) {
      found.first[index_of(each)] = home.first(&word_, kind_of(each));
    }
    return found;
  }

  /// Subtracts `released` from the word, modulo 2^32.
  void give_up(std::uint32_t released, bool is_fair) noexcept {
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & parked) == 0) {
      // (word)  any -> - released
      // order[give_up]: release; pairs [take_free, enter, take, enqueue, redistribute];
      // publishes the critical section.
      // relaxed(revalidated): the next iteration compares the value found.
      if (word_.compare_exchange_strong(found, found - released, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
    look_after(released, is_fair);
  }

  /// Subtracts `released` from the word, and grants the requests of waiters that can be granted, of
  /// at most `most` readers among them. Returns the number of readers that are left asleep, could
  /// be admitted too, and were asleep when the function was called: at most `most` minus the
  /// admitted ones. Preconditions: the caller holds the bucket lock; `most` is not 0.
  [[nodiscard]] std::uint32_t redistribute(bucket& home, std::uint32_t released, bool after_writer,
                                           bool is_fair, wake_list& awake,
                                           std::uint32_t most = UINT32_MAX) noexcept {
    const sleepers in_line = sleepers_in(home);
    const line asleep = in_line.counted();
    const bool is_due = released == written && in_line.oldest_writes() &&
                        (is_fair || home.is_due(W::now(), patience));
    choice chosen;
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
      chosen =
          choose(asleep, found - released, after_writer, is_due, std::min(most, lot::most_readers));
      next = granted(asleep, chosen, found - released);
      // (word)  any -> - released + the chosen grants, closed and parked for the waiters left
      // order[redistribute]: acq_rel; pairs [take_free, enter, take, enqueue, redistribute,
      // free, leave, give_up]; publishes this thread's critical section, and through the fates the
      // sections of earlier owners.
      // relaxed(revalidated): the next iteration compares the value found.
    } while (!word_.compare_exchange_strong(found, next, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
    if (chosen.first_of) {
      node& one = *in_line.first[index_of(*chosen.first_of)];
      awake.add(home.unpark(one, chosen.is_granted ? wake_reason::owner : wake_reason::retry));
    }
    node* reading = in_line.first[index_of(request::read)];
    for (std::uint32_t left = chosen.readers; left > 0; --left) {
      node& one = *reading;
      reading = bucket::next(one);  // read now: the node may be gone after its release
      awake.add(home.unpark(one, wake_reason::owner));
    }
    return chosen.readers == 0 ? 0 : std::min(most, asleep.of(request::read)) - chosen.readers;
  }
  /// Admits, batch by batch, as many readers as a first batch has left asleep. The lock may be
  /// gone, unless a node of the lock is linked, and a writer may hold it again.
  ///
  /// Admitted readers may come back, sleep behind a sleeping writer, and be admitted in place of
  /// others; without the bound, that writer would wait for as long as readers come back sooner than
  /// they are admitted. No reader is forgotten: a reader sleeps only while a writer holds the lock
  /// or sleeps. That writer's unlock, or the step in which it gives up, begins with all readers
  /// that sleep then, and so with the ones that this thread leaves asleep.
  void let_readers_in(bucket& home, std::uint32_t readers_left) noexcept {
    while (readers_left != 0) {
      wake_list awake;
      home.bucket_lock().lock();
      readers_left =
          sleepers_in(home).any() ? redistribute(home, 0, true, false, awake, readers_left) : 0;
      home.bucket_lock().unlock();
      awake.wake();
    }
  }

  /// Spins until the request is granted; returns false if the caller should sleep instead. A writer
  /// spins only while a writer holds the lock, and not if other threads sleep: only as a sleeper
  /// does it keep new readers out. A reader spins for the writer that holds the lock, but not
  /// behind a sleeping writer: that writer has to wake, write and leave first, and may need this
  /// processor.
  bool spin(request wanted) noexcept {
    const auto limit = W::spin_limit();
    const std::uint32_t stops = writes(wanted) ? readers | parked : closed;
    const auto is_news = [wanted, stops](std::uint32_t word) noexcept {
      return (word & blocked_by(wanted)) == 0 || (word & stops) != 0;
    };
    // relaxed(revalidated): take() decides, or the check under the bucket lock.
    while (const auto seen = W::await(word_, is_news, std::memory_order_relaxed,
                                      wait_policies::pausing{}, limit)) {
      if (take(wanted)) return true;
      if ((*seen & stops) != 0) return false;
    }
    return false;
  }

  /// Links the node if the request is still blocked, and acquires the lock otherwise. Returns the
  /// previous value of the word, without flags that a forked child has inherited.
  std::uint32_t enqueue(bucket& home, node& self, request wanted) noexcept {
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    const std::uint32_t found =
        take_guarded(home, wanted, writes(wanted) ? parked | closed : parked);
    if ((found & blocked_by(wanted)) != 0) home.link(self);
    home.bucket_lock().unlock();
    return found;
  }

  /// Acquires the lock if the request is not blocked, and sets `marks` otherwise. Returns the
  /// previous value of the word. Precondition: the caller holds the bucket lock.
  std::uint32_t take_guarded(const bucket& home, request wanted, std::uint32_t marks) noexcept {
    // A forked child has the flags of its parent, and none of the threads that slept there.
    const std::uint32_t stale = sleepers_in(home).any() ? 0 : closed | parked;
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    std::uint32_t found = 0;
    std::uint32_t next = 0;
    do {
      found = word & ~stale;
      const bool is_blocked = (found & blocked_by(wanted)) != 0;
      next = is_blocked ? found | marks : found + taken_by(wanted);
      // (word)  any -> + closed + parked,  any -> + taken_by
      // order[enqueue]: acquire; pairs [free, leave, give_up, redistribute]; as in [take].
      // relaxed(revalidated): the next iteration compares the value found.
    } while (!word_.compare_exchange_strong(word, next, std::memory_order_acquire,
                                            std::memory_order_relaxed));
    return found;
  }

  [[gnu::noinline, gnu::cold]] bool take_unless_awaited(request wanted) noexcept {
    bucket& home = lot::bucket_of(&word_);
    home.bucket_lock().lock();
    const std::uint32_t found = take_guarded(home, wanted, 0);
    home.bucket_lock().unlock();
    return (found & blocked_by(wanted)) == 0;
  }

  /// Sleeps until the node has a wake reason, and returns that reason; returns `asleep` if the
  /// deadline passed first.
  wake_reason sleep(bucket& home, node& self, typename W::deadline limit) noexcept {
    wake_list awake;
    std::uint32_t readers_left = 0;
    // Readers may have slept only because this thread waited to write.
    const auto left = [&] { readers_left = redistribute(home, 0, false, false, awake); };
    const wake_reason reason = lot::sleep(home, self, left, limit);
    awake.wake();
    let_readers_in(home, readers_left);
    return reason;
  }

  atomic<W, std::uint32_t> word_{0};
};

}  // namespace lockyard::inline v0::detail
