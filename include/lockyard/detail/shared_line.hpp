// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/shared_word.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <chrono>
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
  using roused = typename lot::roused;

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

  /// Releases what `held` was granted, and keeps what `kept` would be, at once.
  void give_up(request held) noexcept { give_up(taken_by(held)); }
  void give_up(request held, request kept) noexcept { give_up(taken_by(held) - taken_by(kept)); }

  /// Releases `released`, and gives those in line what they can get. Without anything to release,
  /// the lock may be gone unless somebody is linked.
  void look_after(std::uint32_t released = 0) noexcept {
    bucket& home = lot::bucket_of(&word_);
    roused awake;
    home.guard().lock();
    if (released != 0 || has_sleepers(home)) redistribute(home, released, awake);
    home.guard().unlock();
    awake.wake();
  }

  /// False if there is a deadline and it passed first. Spins do not ask for it: a time-out may be
  /// late by the length of one.
  template <class... Deadline>
  bool wait_for(request wanted, Deadline... limit) noexcept {
    bucket& home = lot::bucket_of(&word_);
    node self{&word_, W::now(), static_cast<std::uint8_t>(wanted)};
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
  static request wanted_by(const node& one) noexcept { return request{one.wanted()}; }

  /// Whether somebody sleeps, even where the lock is gone and another one has come to its place.
  bool has_sleepers(const bucket& home) const noexcept {
    const node* const first = home.find(&word_);
    return first != nullptr && first->wanted() != 0;
  }

  /// Modulo 2^32.
  void give_up(std::uint32_t released) noexcept {
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
    look_after(released);
  }

  /// Under the guard: takes `released` from the word, and gives those in line what they can get.
  void redistribute(bucket& home, std::uint32_t released, roused& awake) noexcept {
    line asleep;
    for (const node* each = home.find(&word_); each != nullptr; each = home.find_behind(*each)) {
      asleep.add(wanted_by(*each));
    }
    const bool after_writer = (released & written) != 0;
    const bool is_due =
        released == written && asleep.oldest_writes && home.is_due(W::now(), patience);
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
    for (node* each = home.find(&word_); each != nullptr;) {
      node& one = *each;
      each = home.find_behind(one);  // before the node may be gone
      const request wanted = wanted_by(one);
      if (chosen.first_of == wanted) {
        awake.add(home.release(one, chosen.is_granted ? fate::owner : fate::awake));
        chosen.first_of.reset();
      } else if (chosen.all_readers && wanted == request::read) {
        awake.add(home.release(one, fate::owner));
      }
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
  /// the word as it was.
  std::uint32_t get_in_line(bucket& home, node& self, request wanted) noexcept {
    const std::uint32_t marks = writes(wanted) ? watched | closed : watched;
    self.falls_asleep();
    home.guard().lock();
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    bool is_blocked = false;
    std::uint32_t next = 0;
    do {
      is_blocked = (found & blocked_by(wanted)) != 0;
      next = is_blocked ? found | marks : found + taken_by(wanted);
      // (word)  any -> + closed + watched,  any -> + taken_by
      // order[get_in_line]: acquire; pairs [free, leave, give_up, redistribute]; as in [take].
      // relaxed(revalidated): the next turn compares what was found.
    } while (!word_.compare_exchange_strong(found, next, std::memory_order_acquire,
                                            std::memory_order_relaxed));
    if (is_blocked) home.link(self);
    home.guard().unlock();
    return found;
  }

  /// What the node was told in the end; nothing (`asleep`) if the deadline passed first.
  template <class... Deadline>
  fate sleep(bucket& home, node& self, Deadline... limit) noexcept {
    roused awake;
    const auto left = [&] { redistribute(home, 0, awake); };  // readers may have slept for it alone
    const fate told = lot::sleep(home, self, left, limit...);
    awake.wake();
    return told;
  }

  typename W::template atomic<std::uint32_t> word_{0};
};

}  // namespace lockyard::inline v0::detail
