// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/arch.hpp>
#include <lockyard/park/adaptive_mutex.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace lockyard::inline v0::detail {

/// Where the waiters of locks too small to hold a queue sleep: a table of queues, one table per
/// process, found by a lock's address. The idea is that of WebKit's parking lot (F. Pizlo 2016).
///
/// A bucket is the queue of all locks whose addresses fall into it, and a guard that protects the
/// queue. A waiter is a node on the stack of the thread that waits. Time, order and hand-over are
/// the locks' own affair; what is common is this:
///
/// N1 A node is linked and unlinked only under its bucket's guard, and by its own thread once at
///    least: linked by it, unlinked by it or by whoever ends its sleep.
/// N2 Whoever unlinks another thread's node writes the node's `fate` last, still under the guard,
///    and does not touch the node again. From that write on the node may be gone, with its stack.
///    The wake that follows uses the address of `fate` alone.
/// N3 A thread leaves the frame of its node only after it has seen its fate, or has unlinked the
///    node itself under the guard.
/// So a node outlives every use of it, and `fate` is the one word through which a sleeper learns
/// anything. The checker's client parking_lot, and those of the locks, would show a use after the
/// end.
template <world W>
class parking_lot {
 public:
  /// What a sleeper is told. Each lock says what its words mean.
  enum class fate : std::uint32_t {
    asleep,      ///< nothing yet
    awake,       ///< look again
    designated,  ///< look again; others count on it
    owner,       ///< the lock was handed over
  };

  class node {
   public:
    node(const void* lock, typename W::time_point since, std::uint8_t wanted = 0) noexcept
        : lock_{lock}, since_{since}, wanted_{wanted} {}
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    [[nodiscard]] typename W::time_point since() const noexcept { return since_.read(); }
    /// Under the guard once it has been linked: what it waits for.
    [[nodiscard]] const void* lock() const noexcept { return lock_.read(); }
    /// What it waits for, where a lock can be had in several ways: numbers that no other kind of
    /// lock uses, and not 0.
    [[nodiscard]] std::uint8_t wanted() const noexcept { return wanted_; }
    /// Under the guard: whether it was roused before, and did not get what it waits for.
    [[nodiscard]] bool was_roused() const noexcept { return was_roused_.read(); }
    void is_roused() noexcept { was_roused_.write(true); }

    /// Before the node is linked.
    void falls_asleep() noexcept {
      // relaxed(unpublished): the guard publishes the node.
      fate_.store(static_cast<std::uint32_t>(fate::asleep), std::memory_order_relaxed);
    }
    /// Under the guard, after its own thread has unlinked it: others see that it sleeps no more.
    void gets_up() noexcept {
      // relaxed(locked): who relies on it holds the guard.
      fate_.store(static_cast<std::uint32_t>(fate::awake), std::memory_order_relaxed);
    }
    [[nodiscard]] fate seen() const noexcept {
      // order[seen]: acquire; pairs [told]; the owner-to-be starts after the last owner's section.
      return static_cast<fate>(fate_.load(std::memory_order_acquire));
    }
    /// Spins until something has been told, or the deadline has passed.
    void spin(typename W::deadline limit) const noexcept {
      const auto is_news = [](std::uint32_t told) noexcept {
        return told != static_cast<std::uint32_t>(fate::asleep);
      };
      // relaxed(revalidated): by seen().
      W::await(fate_, is_news, std::memory_order_relaxed, wait_policies::pausing{}, limit);
    }
    /// Sleeps while nothing has been told; may return for no reason.
    template <class... Deadline>
    auto sleep(Deadline... limit) const noexcept {
      return W::wait(fate_, static_cast<std::uint32_t>(fate::asleep), limit...);
    }

   private:
    friend class parking_lot;

    typename W::template atomic<std::uint32_t> fate_{0};
    typename W::template var<const void*> lock_;
    typename W::template var<typename W::time_point> since_;
    const std::uint8_t wanted_;
    typename W::template var<bool> was_roused_{false};
    typename W::template var<node*> before_{nullptr};
    typename W::template var<node*> behind_{nullptr};
  };

  /// All zero bytes, so that the table costs nothing until it is used.
  class alignas(arch::interference_size / 2) bucket {
   public:
    constexpr bucket() noexcept = default;

    using guard_type = typename W::template inner_lock<basic_adaptive_mutex<W>>;
    guard_type& guard() noexcept { return guard_; }

    // For all that follows the caller holds the guard.

    /// In the order in which the threads began to wait, not to sleep: who was roused in vain comes
    /// back to its place.
    void link(node& added) noexcept {
      static_cast<void>(&at_start_);  // makes sure that it exists
      node* before = last_.read();
      while (before != nullptr && added.since() < before->since()) before = before->before_.read();
      auto& towards = before == nullptr ? first_ : before->behind_;
      node* const behind = towards.read();
      added.before_.write(before);
      added.behind_.write(behind);
      towards.write(&added);
      (behind == nullptr ? last_ : behind->before_).write(&added);
    }
    void remove(node& gone) noexcept {
      node* const before = gone.before_.read();
      node* const behind = gone.behind_.read();
      (before == nullptr ? first_ : before->behind_).write(behind);
      (behind == nullptr ? last_ : behind->before_).write(before);
    }
    /// Lets a linked node wait for another lock of this bucket, from now on.
    void move(node& linked, const void* lock, typename W::time_point now) noexcept {
      remove(linked);
      linked.lock_.write(lock);
      linked.since_.write(now);
      link(linked);
    }
    [[nodiscard]] node* first() const noexcept { return first_.read(); }
    /// The first that waits for the lock; null if there is none.
    [[nodiscard]] node* find(const void* lock) const noexcept { return find_from(first(), lock); }
    /// The next one behind it that waits for the same lock.
    [[nodiscard]] node* find_behind(const node& one) const noexcept {
      return find_from(one.behind_.read(), one.lock());
    }

    /// Whether the caller's node has not been unlinked by another thread.
    [[nodiscard]] static bool is_linked(const node& own) noexcept {
      // relaxed(locked): who writes it holds the guard.
      return own.fate_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(fate::asleep);
    }

    /// Unlinks a node and tells it its fate. The node may be gone afterwards; the result is for
    /// W::wake, after the guard.
    [[nodiscard]] const auto& release(node& sleeper, fate told) noexcept {
      remove(sleeper);
      const auto& name = sleeper.fate_;
      // order[told]: release; pairs [seen]; whoever is handed a lock starts after its last owner.
      sleeper.fate_.store(static_cast<std::uint32_t>(told), std::memory_order_release);
      return name;
    }

    /// Whether `every` has passed since this was true last.
    [[nodiscard]] bool is_due(typename W::time_point now,
                              std::chrono::microseconds every) noexcept {
      if (now <= due_.read()) return false;
      due_.write(now + every);
      return true;
    }

    // What basic_mutex keeps here because it has no room of its own.

    /// Who sleeps, for those who do not hold the guard: an `announcement`.
    typename W::template atomic<std::uint64_t> announced{0};
    /// The lock of which one waiter is awake, or on its way, and will take it or see to it: see
    /// `attendance`.
    typename W::template atomic<std::uintptr_t> attended{0};
    /// When a sleeper was roused last, or when the first one came.
    typename W::template atomic<typename W::time_point> relieved{};
    /// Under the guard: how many sleep for something else, and may yet be moved to a basic_mutex.
    typename W::template var<std::uint32_t> expected{};

   private:
    static node* find_from(node* one, const void* lock) noexcept {
      while (one != nullptr && one->lock() != lock) one = one->behind_.read();
      return one;
    }

    guard_type guard_;
    typename W::template var<node*> first_{nullptr};
    typename W::template var<node*> last_{nullptr};
    typename W::template var<typename W::time_point> due_{};
  };

  /// Whose sleep has ended: the addresses by which they are woken.
  class roused {
   public:
    /// When there are many some are woken now, under the guard.
    void add(const typename W::template atomic<std::uint32_t>& sleeper) noexcept {
      if (count_ == most) wake();
      sleepers_[count_++] = &sleeper;
    }
    /// Of whom none is woken under the guard.
    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return most; }
    void wake() noexcept {
      while (count_ > 0) W::wake(*sleepers_[--count_], 1);
    }

   private:
    static constexpr std::size_t most = 16;

    std::array<const typename W::template atomic<std::uint32_t>*, most> sleepers_;
    std::size_t count_ = 0;
  };

  /// After fork the child has none of the threads that slept or held a guard.
  static void forget_in_child() noexcept {
    static_assert(std::is_trivially_destructible_v<table>);
    ::new (&W::template process_state<table>()) table{};
  }

  static bucket& bucket_of(const void* lock) noexcept {
    return W::template process_state<table>().buckets[index_of(W::hash(lock))];
  }
  /// Sleeps until the linked node has been told something, and returns that. At the deadline, if
  /// there is one: unlinks the node, calls `left` under the guard, and returns `asleep`.
  template <class Left, class... Deadline>
  static fate sleep(bucket& home, node& self, Left left, Deadline... limit) noexcept {
    fate told = self.seen();
    while (told == fate::asleep) {
      const bool is_late = self.sleep(limit...) == W::wait_result::timed_out;
      told = self.seen();
      if (!is_late || told != fate::asleep) continue;
      home.guard().lock();
      told = self.seen();
      if (told == fate::asleep) {
        home.remove(self);
        left();
      }
      home.guard().unlock();
      break;
    }
    return told;
  }
  /// Tells locks of one bucket apart, most of the time; never zero.
  static std::uint32_t tag_of(const void* lock) noexcept {
    return static_cast<std::uint32_t>(W::hash(lock) >> 16U) | 1U;
  }

 private:
  struct [[gnu::visibility("default")]] table {
    std::array<bucket, W::table_size> buckets{};
  };
  static inline const typename W::template at_start<parking_lot> at_start_{};

  static constexpr std::size_t index_of(std::uint64_t hash) noexcept {
    static_assert(std::has_single_bit(W::table_size));
    constexpr int bits = std::countr_zero(W::table_size);
    if constexpr (bits == 0) {
      return 0;
    } else {
      return hash >> (64 - bits);
    }
  }
};

}  // namespace lockyard::inline v0::detail
