// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0 {

/// Counts permits: threads acquire some, sleep while there are too few, and release them, or new
/// ones. docs/locks/semaphore.md explains it in detail.
///
/// Use: to bound the number of threads that do something at once, or to count items that have been
///   made and not yet taken. It has no owner: any thread may release. Where one thread at a time
///   changes data, use a mutex.
/// Source: E. Dijkstra's P and V (1965); several at once after H. Vantilborgh and A. van Lamsweerde
///   (1972), served in turn as by Java's fair Semaphore; the bit and the table of queues as in
///   byte_mutex.
/// Guarantees: never more permits are held than there are; no lost wake-up (below); timed. Sleepers
///   are served in the order in which their sleeps began, and while a thread sleeps no newcomer
///   barges: permits are kept for the first sleeper until they are enough, so a big request waits
///   for as many releases as it needs and no longer. A signal handler must not use it: it may wait
///   for a bucket lock that its own thread holds. After fork the child's copy is as it was, without
///   waiters. A thread that a release let go on may destroy it if no other thread waits, though
///   that release may not have returned (below). Within one process only.
/// Size: 4 bytes. All zero bytes are a semaphore without permits.
///
/// | word_, bits | meaning |
/// |---|---|
/// | 0 | awaited: a thread sleeps |
/// | 1 to 31 | available permits |
///
/// I1 `awaited` changes only under the bucket lock. When the bucket lock is free, `awaited` is set
///    if and only if a node of this semaphore is linked.
/// I2 While `awaited` is set only holders of the bucket lock change the word. When the bucket lock
///    is free, the first waiter in the queue wants more permits than there are, or a thread is
///    about to take the bucket lock to serve it: a release ends a batch of sleeps at a time.
/// No lost wake-up: a node is linked in one step with the look that finds too few permits, by the
/// compare-exchange that sets `awaited`, or behind others. By I1 every release until it is unlinked
/// finds `awaited`, takes the bucket lock, and gives the first waiters in the queue their permits,
/// for as long as the permits last; a waiter that gives up does the same for the waiters behind it.
/// Lifetime: N1 to N3 of parking_lot.hpp. A release that finds `awaited` has released nothing yet,
/// so the semaphore is needed; under the bucket lock it writes the word first and then the wake
/// reasons of the threads that go on, and after the last one it uses the bucket and the addresses
/// of wake reasons only. Otherwise its compare-exchange is its last step. Before a further batch it
/// checks that a node is linked, as another release may have served the earlier ones. Clients
/// semaphore*; the mutants semaphore_* hang, or use freed memory.
template <world W = default_world, std::ptrdiff_t Most = INT32_MAX>
class basic_semaphore {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using bucket = typename lot::bucket;
  using wake_reason = typename lot::wake_reason;
  using wake_list = typename lot::wake_list;

 public:
  /// The most permits that there can be.
  static constexpr std::ptrdiff_t max() noexcept { return Most; }
  static_assert(Most >= 0 && Most <= INT32_MAX);

  /// Begins with so many permits.
  /// Errors: a number below 0 or above max() does not compile where the compiler knows it, and ends
  /// the process with a message otherwise.
  constexpr explicit basic_semaphore(std::ptrdiff_t permits = 0) noexcept
      : word_{checked(permits) * one} {}
  basic_semaphore(const basic_semaphore&) = delete;
  basic_semaphore& operator=(const basic_semaphore&) = delete;

  /// Effects: takes that many permits, all at once; while there are fewer, or others sleep, spins
  /// for as long as a sleep would cost if no thread sleeps yet, and sleeps otherwise. Does nothing
  /// if asked for 0.
  /// Synchronisation: everything done before these permits' releases happens before the return.
  /// Progress: first come, first served among sleepers; each waits for its own permits and the
  /// permits of the sleepers in front of it. One locked operation if no thread sleeps.
  /// Errors: a number below 0 or above max(), which is never available, ends the process with a
  /// message; so in all functions below.
  void acquire(std::ptrdiff_t permits = 1) noexcept {
    const std::uint32_t wanted = checked(permits);
    if (!take(wanted)) [[unlikely]]
      wait_for(wanted);
  }

  /// Effects: takes that many permits if they are available, and no thread sleeps; returns whether
  /// it did. Synchronisation: as acquire() if it returns true. Progress: lock-free, except for the
  /// bucket lock where there are enough permits and a thread that wants more of them sleeps.
  [[nodiscard]] bool try_acquire(std::ptrdiff_t permits = 1) noexcept {
    const std::uint32_t wanted = checked(permits);
    return take(wanted) || (seems_forked(wanted) && take_under_guard(wanted));
  }

  /// Effects: as acquire(), waiting for at least `duration` if it has to; returns whether it did.
  /// Without a positive duration: as try_acquire(). Measured by the steady clock.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return try_acquire_for(1, duration);
  }
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(std::ptrdiff_t permits,
                                     const std::chrono::duration<Rep, Period>& duration) noexcept {
    const std::uint32_t wanted = checked(permits);
    return take(wanted) || detail::wait_within<W>(duration, waiting_for(wanted));
  }

  /// The same, until `Clock` has reached `limit`; see `wait_up_to` in deadlines.hpp.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& limit) noexcept {
    return try_acquire_until(1, limit);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(
      std::ptrdiff_t permits, const std::chrono::time_point<Clock, Duration>& limit) noexcept {
    const std::uint32_t wanted = checked(permits);
    return take(wanted) || detail::wait_up_to<W>(limit, waiting_for(wanted));
  }

  /// Effects: adds that many permits, and lets waiters go on in their order as far as the permits
  /// last.
  /// Synchronisation: everything done before happens before the acquisition of these permits
  /// returns.
  /// Progress: lock-free while no thread sleeps, one locked operation; otherwise it may wait for
  /// the bucket lock, and makes a system call for each thread that it wakes.
  /// Errors: more than max() in all end the process with a message.
  void release(std::ptrdiff_t permits = 1) noexcept {
    if (!try_release(permits)) [[unlikely]] {
      detail::os::refuse(
          "more permits are released to a semaphore than it can hold, max(): a release has no "
          "acquire, or what is counted grows without an end, which try_release() can tell");
    }
  }

  /// Does the same, but returns false, and changes nothing, where there would be more than max().
  [[nodiscard]] bool try_release(std::ptrdiff_t permits = 1) noexcept {
    const std::uint32_t added = checked(permits);
    const std::uint32_t found = add(added);
    if ((found & awaited) != 0) [[unlikely]]
      return hand_out(added);
    return has_room(found, added);
  }

 private:
  static constexpr auto kind = detail::waiter_kind::semaphore;
  static constexpr std::uint32_t awaited = 1, one = 2;

  struct node : lot::node {
    node(const void* semaphore, std::uint32_t number) noexcept
        : lot::node{semaphore,
                    kind,
                    {}},  // all came at the same time: in the order of their linking
          permits{number} {}
    const std::uint32_t permits;
  };
  /// Every node linked for this semaphore is its own kind of node.
  static node* own(typename lot::node* linked) noexcept { return static_cast<node*>(linked); }

  static constexpr std::uint32_t checked(std::ptrdiff_t permits) noexcept {
    if (permits < 0 || permits > max()) [[unlikely]] {
      detail::os::refuse(
          "a semaphore is asked for a number of permits that is negative or above its max(): such "
          "a number is not a count, or is one that it can never have");
    }
    return static_cast<std::uint32_t>(permits);
  }
  static constexpr bool has_room(std::uint32_t word, std::uint32_t added) noexcept {
    return static_cast<std::uint32_t>(Most) - word / one >= added;
  }

  /// Returns false if there are too few, or a thread sleeps.
  bool take(std::uint32_t wanted) noexcept {
    if (wanted == 0) return true;
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & awaited) == 0 && found / one >= wanted) {
      // (permits,awaited)  n,0 -> n-wanted,0
      // order[take]: acquire; pairs [add, distribute]; goes on after the releases of its permits.
      // relaxed(revalidated): the next turn compares the value found.
      if (word_.compare_exchange_strong(found, found - wanted * one, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Returns the word as it was; adds nothing if that was awaited, or has no room.
  std::uint32_t add(std::uint32_t added) noexcept {
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    // (permits,awaited)  n,0 -> n+added,0
    // order[add]: release; pairs [take, enqueue]; publishes the work done with the permits.
    // relaxed(revalidated): the next turn compares the value found.
    while ((found & awaited) == 0 && has_room(found, added) &&
           !word_.compare_exchange_strong(found, found + added * one, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    return found;
  }

  /// Serves the queue: a thread slept a moment ago. Returns false if there is no room.
  [[gnu::noinline, gnu::cold]] bool hand_out(std::uint32_t added) noexcept {
    bucket& home = lot::bucket_of(this);
    wake_list awake;
    bool serves_on = false;
    home.bucket_lock().lock();
    const std::uint32_t found = add(added);
    const bool fits = has_room(found, added);
    if ((found & awaited) != 0 && fits) serves_on = distribute(home, found / one + added, awake);
    home.bucket_lock().unlock();
    awake.wake();
    if (serves_on) distribute_on(home);
    return fits;
  }

  /// Under the bucket lock, while `awaited` is set: there are so many permits now. Serves the queue
  /// one after the other, but no more than a batch: returns true if there are permits for the next
  /// waiter.
  [[nodiscard]] bool distribute(bucket& home, std::uint32_t permits, wake_list& awake) noexcept {
    auto* const first = home.first(this, kind);
    std::uint32_t served = 0;
    auto* next = first;
    for (; next != nullptr && own(next)->permits <= permits && served < awake.room();
         next = bucket::next(*next)) {
      permits -= own(next)->permits;
      ++served;
    }
    const bool serves_on = next != nullptr && own(next)->permits <= permits;
    // (permits,awaited)  any,1 -> the rest, whether a waiter is left
    // order[distribute]: release; pairs [take, enqueue]; publishes the work done with the
    // remaining permits, by this thread and by earlier holders of the bucket lock.
    word_.store(permits * one | (next != nullptr ? awaited : 0), std::memory_order_release);
    for (next = first; served > 0; --served) {
      auto& one_of_them = *next;
      next = bucket::next(one_of_them);  // before the node may be gone
      awake.add(home.unpark(one_of_them, wake_reason::owner));
    }
    return serves_on;
  }
  /// Serves on after a batch that left permits for others. Another thread may have served them
  /// meanwhile, and the semaphore may be gone unless a node of it is linked.
  void distribute_on(bucket& home) noexcept {
    for (bool serves_on = true; serves_on;) {
      wake_list awake;
      home.bucket_lock().lock();
      // relaxed(locked): while a node is linked `awaited` is set; the bucket lock guards the word.
      serves_on = home.first(this, kind) != nullptr &&
                  distribute(home, word_.load(std::memory_order_relaxed) / one, awake);
      home.bucket_lock().unlock();
      awake.wake();
    }
  }

  auto waiting_for(std::uint32_t wanted) noexcept {
    return [this, wanted](typename W::deadline limit) { return wait_for(wanted, limit); };
  }

  /// Returns false if the deadline passed first, which the spin at the beginning does not check.
  [[gnu::noinline, gnu::cold]] bool wait_for(std::uint32_t wanted,
                                             typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    if (spin(wanted)) return true;
    bucket& home = lot::bucket_of(this);
    node self{this, wanted};
    if (enqueue(home, self)) return true;
    wake_list awake;
    bool serves_on = false;
    const auto left = [&] {
      // relaxed(locked): by I2. The waiters behind may want less.
      serves_on = distribute(home, word_.load(std::memory_order_relaxed) / one, awake);
    };
    const wake_reason reason = lot::sleep(home, self, left, limit);
    awake.wake();
    if (serves_on) distribute_on(home);
    return scope.result(reason == wake_reason::owner);
  }

  /// Does not spin if others sleep.
  bool spin(std::uint32_t wanted) noexcept {
    const auto limit = W::spin_limit();
    const auto is_news = [wanted](std::uint32_t word) noexcept {
      return (word & awaited) != 0 || word / one >= wanted;
    };
    // relaxed(revalidated): take() and the bucket lock decide.
    while (const auto seen = W::await(word_, is_news, std::memory_order_relaxed,
                                      wait_policies::pausing{}, limit)) {
      if (take(wanted)) return true;
      if ((*seen & awaited) != 0) return false;
    }
    return false;
  }

  /// Links the node, or returns true if its permits are available after all.
  bool enqueue(bucket& home, node& self) noexcept {
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    const bool taken = take_guarded(home, self.permits, awaited);
    if (!taken) home.link(self);
    home.bucket_lock().unlock();
    return taken;
  }

  /// Returns whether there are enough permits although `awaited` is set: the first waiter wants
  /// more, or it sleeps in the parent of this forked process.
  [[nodiscard]] bool seems_forked(std::uint32_t wanted) const noexcept {
    // relaxed(hint): the bucket lock decides.
    const std::uint32_t found = word_.load(std::memory_order_relaxed);
    return (found & awaited) != 0 && found / one >= wanted;
  }
  [[gnu::noinline, gnu::cold]] bool take_under_guard(std::uint32_t wanted) noexcept {
    bucket& home = lot::bucket_of(this);
    home.bucket_lock().lock();
    const bool taken = take_guarded(home, wanted, 0);
    home.bucket_lock().unlock();
    return taken;
  }

  /// Under the bucket lock: takes the permits unless there are too few, or others sleep; sets
  /// `mark` otherwise.
  bool take_guarded(const bucket& home, std::uint32_t wanted, std::uint32_t mark) noexcept {
    // Equals `awaited`, except in a forked child, where the parent's `awaited` may be left over.
    const bool others_sleep = home.first(this, kind) != nullptr;
    // relaxed(revalidated): by the compare-exchange.
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    bool taken = false;
    std::uint32_t next = 0;
    do {
      taken = !others_sleep && found / one >= wanted;
      next = taken ? (found & ~awaited) - wanted * one : found | mark;
      // (permits,awaited)  n,any -> n-wanted,0;  n,any -> n,1
      // order[enqueue]: acquire; pairs [add, distribute]; as in [take]; and a later
      // distribution comes, by the bucket lock, after all that was released before.
      // relaxed(revalidated): the next turn compares the value found.
    } while (!word_.compare_exchange_strong(found, next, std::memory_order_acquire,
                                            std::memory_order_relaxed));
    return taken;
  }

  atomic<W, std::uint32_t> word_;
};

using semaphore = basic_semaphore<>;

}  // namespace lockyard::inline v0
