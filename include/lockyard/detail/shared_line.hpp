// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/shared_word.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The word of a basic_shared_mutex with all that is done to it, and its line of sleepers in the
/// parking lot. shared_mutex.hpp has the table, and the argument that no sleeper is forgotten.
template <world W>
class shared_line : shared_word {
  using lot = parking_lot<typename W::unwatched>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using fate = typename lot::fate;
  using wake_list = typename lot::wake_list;
  static_assert(most_readers + 1 <= lot::batch, "an upgrader is roused with the readers");

 public:
  using shared_word::request;

  /// How long newcomers may overtake the sleeping writers of a bucket before one is handed its
  /// lock.
  static constexpr std::chrono::microseconds patience{500};

  /// False unless the lock is free, and nobody is on its way.
  bool take_free() noexcept {
    std::uint32_t expected = 0;
    // (word)  0 -> written
    // order[take_free]: acquire; pairs [free, leave, give_up, redistribute]; starts after all that
    // held it.
    // relaxed(hint): a failure promises nothing.
    return word_.compare_exchange_strong(expected, written, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// By a writer. False, and nothing is done, if somebody sleeps or is on its way.
  bool free() noexcept {
    std::uint32_t expected = written;
    // (word)  written -> 0
    // order[free]: release; pairs [take_free, enter, take, get_in_line, redistribute]; publishes
    // the critical section.
    // relaxed(hint): after a failure the word is read anew.
    return word_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// A reader comes. If in vain (false), it is counted nevertheless, and has to leave.
  bool enter() noexcept {
    // (word)  any -> + reader
    // order[enter]: acquire; pairs [free, give_up, redistribute]; starts after the last writer.
    const std::uint32_t found = word_.fetch_add(reader, std::memory_order_acquire);
    return (found & blocked_by(request::read)) == 0;
  }

  /// A reader leaves. True if somebody has to look after the line.
  [[nodiscard]] bool leave() noexcept {
    // (word)  any -> - reader
    // order[leave]: release; pairs [take_free, take, get_in_line, redistribute]; publishes what it
    // did.
    const std::uint32_t found = word_.fetch_sub(reader, std::memory_order_release);
    return (found & (readers | closed | written)) == (reader | closed);
  }

  /// Grants the request if nothing is in its way.
  bool take(request wanted) noexcept {
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & blocked_by(wanted)) == 0) {
      // (word)  any -> + taken_by
      // order[take]: acquire; pairs [free, leave, give_up, redistribute]; starts after all whose
      // release made it possible.
      // relaxed(revalidated): the next turn compares what was found.
      if (word_.compare_exchange_strong(found, found + taken_by(wanted), std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// The same where a forked child may have inherited flags from threads of its parent: takes the
  /// guard if flags alone are in the way.
  bool try_take(request wanted) noexcept {
    if (take(wanted)) return true;
    // relaxed(hint): the guard decides.
    const std::uint32_t found = word_.load(std::memory_order_relaxed);
    return (found & blocked_by(wanted)) == closed && take_unless_awaited(wanted);
  }

  /// Releases what `held` was granted, and keeps what `kept` would be, at once.
  void give_up(request held, bool is_fair = false) noexcept { give_up(taken_by(held), is_fair); }
  void give_up(request held, request kept) noexcept {
    give_up(taken_by(held) - taken_by(kept), false);
  }

  /// Releases `released`, and gives those in line what they can get. Without anything to release,
  /// the lock may be gone unless a node of it is linked.
  void look_after(std::uint32_t released = 0, bool is_fair = false) noexcept {
    bucket& home = lot::bucket_of(&word_);
    wake_list awake;
    bool leaves_readers = false;
    home.guard().lock();
    if (released != 0 || sleepers_in(home).any()) {
      leaves_readers = redistribute(home, released, (released & written) != 0, is_fair, awake);
    }
    home.guard().unlock();
    awake.wake();
    if (leaves_readers) let_readers_in(home);
  }

  /// False if there is a deadline and it passed first. Spins do not ask for it: a time-out may be
  /// late by the length of one.
  template <class... Deadline>
  bool wait_for(request wanted, Deadline... limit) noexcept {
    bucket& home = lot::bucket_of(&word_);
    node self{&word_, kind_of(wanted), W::now()};
    while (!spin(wanted)) {
      const std::uint32_t found = get_in_line(home, self, wanted);
      if ((found & blocked_by(wanted)) == 0) return true;
      // Readers leave soon when no new ones come.
      if (writes(wanted) && (found & readers) != 0) self.spin(W::spin_limit());
      const fate told = sleep(home, self, limit...);
      if (told != fate::awake) return told == fate::owner;
    }
    return true;
  }

 private:
  static constexpr waiter_kind kind_of(request wanted) noexcept {
    return static_cast<waiter_kind>(static_cast<std::size_t>(waiter_kind::shared) +
                                    index_of(wanted));
  }

  /// The first node for each request; null where none sleeps.
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
    /// Whether a thread that wants to write began to wait before all others.
    [[nodiscard]] bool oldest_writes() const noexcept {
      const node* const writer = first[index_of(request::write)];
      return writer != nullptr && std::ranges::all_of(first, [writer](const node* one) {
               return one == nullptr || writer->since() <= one->since();
             });
    }
  };
  /// Under the guard; knows the lock by its address alone.
  [[nodiscard]] sleepers sleepers_in(const bucket& home) const noexcept {
    sleepers found;
    for (const request each :
         {request::read, request::upgrade, request::write, request::write_on}) {
      found.first[index_of(each)] = home.first(&word_, kind_of(each));
    }
    return found;
  }

  /// Modulo 2^32.
  void give_up(std::uint32_t released, bool is_fair) noexcept {
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & watched) == 0) {
      // (word)  any -> - released
      // order[give_up]: release; pairs [take_free, enter, take, get_in_line, redistribute];
      // publishes what it did.
      // relaxed(revalidated): the next turn compares what was found.
      if (word_.compare_exchange_strong(found, found - released, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
    look_after(released, is_fair);
  }

  /// Under the guard: takes `released` from the word, and gives those in line what they can get.
  /// True if readers are left that could be let in, too.
  [[nodiscard]] bool redistribute(bucket& home, std::uint32_t released, bool after_writer,
                                  bool is_fair, wake_list& awake) noexcept {
    const sleepers in_line = sleepers_in(home);
    const line asleep = in_line.counted();
    const bool is_due = released == written && in_line.oldest_writes() &&
                        (is_fair || home.is_due(W::now(), patience));
    choice chosen;
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
      chosen = choose(asleep, found - released, after_writer, is_due);
      next = granted(asleep, chosen, found - released);
      // (word)  any -> - released + what the chosen ones get, closed and watched for those left
      // order[redistribute]: acq_rel; pairs [take_free, enter, take, get_in_line, redistribute,
      // free, leave, give_up]; publishes what this thread did, and by the fates what others did.
      // relaxed(revalidated): the next turn compares what was found.
    } while (!word_.compare_exchange_strong(found, next, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
    if (chosen.first_of) {
      node& one = *in_line.first[index_of(*chosen.first_of)];
      awake.add(home.release(one, chosen.is_granted ? fate::owner : fate::awake));
    }
    node* reading = in_line.first[index_of(request::read)];
    for (std::uint32_t left = chosen.readers; left > 0; --left) {
      node& one = *reading;
      reading = bucket::next(one);  // before the node may be gone
      awake.add(home.release(one, fate::owner));
    }
    return chosen.readers != 0 && chosen.readers < asleep.of(request::read);
  }
  /// After a batch of readers: the others that sleep. The lock may be gone unless a node of it is
  /// linked, and may be held by a writer again.
  void let_readers_in(bucket& home) noexcept {
    for (bool leaves_readers = true; leaves_readers;) {
      wake_list awake;
      home.guard().lock();
      leaves_readers = sleepers_in(home).any() && redistribute(home, 0, true, false, awake);
      home.guard().unlock();
      awake.wake();
    }
  }

  /// Who wants to write spins for writers alone, and not if others sleep: only in line does it stop
  /// new readers. Who wants to read spins for writers that are there, and not behind one that
  /// sleeps: that one has to wake, write and leave before, and may want this processor for it.
  bool spin(request wanted) noexcept {
    const auto limit = W::spin_limit();
    const std::uint32_t stops = writes(wanted) ? readers | watched : closed;
    const auto is_news = [wanted, stops](std::uint32_t word) noexcept {
      return (word & blocked_by(wanted)) == 0 || (word & stops) != 0;
    };
    // relaxed(revalidated): take() and the guard decide.
    while (const auto seen = W::await(word_, is_news, std::memory_order_relaxed,
                                      wait_policies::pausing{}, limit)) {
      if (take(wanted)) return true;
      if ((*seen & stops) != 0) return false;
    }
    return false;
  }

  /// Links the node unless nothing is in the way any more, in which case it takes the lock. Returns
  /// the word as it was, without flags that a forked child has inherited.
  std::uint32_t get_in_line(bucket& home, node& self, request wanted) noexcept {
    self.falls_asleep();
    home.guard().lock();
    const std::uint32_t found =
        take_guarded(home, wanted, writes(wanted) ? watched | closed : watched);
    if ((found & blocked_by(wanted)) != 0) home.link(self);
    home.guard().unlock();
    return found;
  }

  /// Under the guard: takes the lock if nothing is in the way, and sets `marks` otherwise. Returns
  /// the word as it was.
  std::uint32_t take_guarded(const bucket& home, request wanted, std::uint32_t marks) noexcept {
    // A forked child has the flags of its parent, and none of the threads that slept there.
    const std::uint32_t stale = sleepers_in(home).any() ? 0 : closed | watched;
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    std::uint32_t found = 0;
    std::uint32_t next = 0;
    do {
      found = word & ~stale;
      const bool is_blocked = (found & blocked_by(wanted)) != 0;
      next = is_blocked ? found | marks : found + taken_by(wanted);
      // (word)  any -> + closed + watched,  any -> + taken_by
      // order[get_in_line]: acquire; pairs [free, leave, give_up, redistribute]; as in [take].
      // relaxed(revalidated): the next turn compares what was found.
    } while (!word_.compare_exchange_strong(word, next, std::memory_order_acquire,
                                            std::memory_order_relaxed));
    return found;
  }

  [[gnu::noinline, gnu::cold]] bool take_unless_awaited(request wanted) noexcept {
    bucket& home = lot::bucket_of(&word_);
    home.guard().lock();
    const std::uint32_t found = take_guarded(home, wanted, 0);
    home.guard().unlock();
    return (found & blocked_by(wanted)) == 0;
  }

  /// What the node was told in the end; nothing (`asleep`) if the deadline passed first.
  template <class... Deadline>
  fate sleep(bucket& home, node& self, Deadline... limit) noexcept {
    wake_list awake;
    bool leaves_readers = false;
    // Readers may have slept for it alone.
    const auto left = [&] { leaves_readers = redistribute(home, 0, false, false, awake); };
    const fate told = lot::sleep(home, self, left, limit...);
    awake.wake();
    if (leaves_readers) let_readers_in(home);
    return told;
  }

  typename W::template atomic<std::uint32_t> word_{0};
};

}  // namespace lockyard::inline v0::detail
