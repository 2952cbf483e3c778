// SPDX-License-Identifier: Apache-2.0
#pragma once

// The work of a resilient lock's waiter between the slices of its wait: it looks for reasons why
// the wait may last forever.

#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/wait_graph.hpp>
#include <lockyard/lock_report.hpp>
#include <lockyard/resilience.hpp>
#include <lockyard/resilient/lock_result.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>

namespace lockyard::inline v0::detail {

/// The place of a waiter.
enum class in_line : std::uint8_t {
  pending,   ///< goes before the queue
  head,      ///< the head of the queue
  queued,    ///< behind other waiters: the head checks whether the lock stalls
  nodeless,  ///< in no queue, because no node is free
};

/// The lengths of the slices of a wait, and the rules by which stalled time is counted.
struct stall_clock {
  /// The slice before the first look: as long as short waits take.
  static constexpr std::chrono::microseconds first_slice{10};
  static constexpr std::chrono::milliseconds slice{1};
  /// The slice of a sleeper that is behind other waiters and holds no other lock, or has looked
  /// often enough: a thread that closes a cycle later looks for the cycle itself.
  static constexpr std::chrono::milliseconds long_slice{50};
  static constexpr unsigned looks_before_long = 8;
  /// The most time between two looks that counts as stalled: in a longer time the waiter itself did
  /// not run.
  static constexpr std::chrono::milliseconds most_counted{10};
  static constexpr std::chrono::seconds nodeless_limit{1};
  /// The looks at a cycle whose chosen victim stays, after which another thread leaves.
  static constexpr unsigned most_looks_at_cycle = 3;
};

/// The stall time-outs of a type of locks. Not atomics of a world, because their order is
/// irrelevant.
template <resilience R>
class [[gnu::visibility("default")]] limits_of_type {
 public:
  static constexpr state_traits process_traits{.key = state_key{"limits_of_type"}
                                                          .add(R.recovers)
                                                          .add(R.named)
                                                          .add(std::uint64_t(R.victim))
                                                          .add(R.pending_ms)
                                                          .add(R.head_ms)
                                                          .value()};
  static_assert(R.pending_ms > 0 && R.head_ms > 0,
                "a stall time-out of zero: no thread could wait");

  bool set(stall_limits next) noexcept {
    if (next.pending.count() <= 0 || next.head.count() <= 0) return false;
    // relaxed(atomicity): two numbers that need not change at the same time.
    pending_.store(next.pending.count(), std::memory_order_relaxed);
    // relaxed(atomicity): as above.
    head_.store(next.head.count(), std::memory_order_relaxed);
    return true;
  }
  [[nodiscard]] stall_limits get() const noexcept {
    // relaxed(atomicity): as above.
    return {std::chrono::nanoseconds{pending_.load(std::memory_order_relaxed)},
            std::chrono::nanoseconds{head_.load(std::memory_order_relaxed)}};
  }

 private:
  static constexpr std::int64_t ns_in_ms = 1'000'000;
  std::atomic<std::int64_t> pending_{R.pending_ms * ns_in_ms};
  std::atomic<std::int64_t> head_{R.head_ms * ns_in_ms};
};

/// The watch of one waiting call. The lock's queue asks it after each slice whether to leave.
template <world W, resilience R>
class stall_watch {
 public:
  using tables = held_locks<W>;
  using entry = typename tables::entry;
  using deadline = typename W::deadline;
  using word = atomic<W, std::uint32_t>;

  /// `place` is the lock's entry, or null; `own_limit` the caller's own deadline, or null.
  stall_watch(entry* place, lock_label lock, std::source_location at, stall_limits limits,
              const deadline* own_limit) noexcept
      : place_{place}, lock_{lock}, at_{at}, limits_{limits}, own_limit_{own_limit} {}
  stall_watch(const stall_watch&) = delete;
  stall_watch& operator=(const stall_watch&) = delete;
  ~stall_watch() { end(); }

  /// Spins until the predicate is true, or until it is time to look.
  template <class Predicate, class Policy>
  std::optional<std::uint32_t> await(const word& on, Predicate predicate, Policy&& policy,
                                     bool sleeps_then) const noexcept {
    const auto limit = sleeps_then
                           ? W::spin_limit(stall_clock::first_slice)
                           : W::deadline_after(looks_ == 0 ? nanoseconds{stall_clock::first_slice}
                                                           : stall_clock::slice);
    // relaxed(revalidated): the waiter acquires by an exchange that compares the value seen.
    return W::await(on, predicate, std::memory_order_relaxed, policy, limit);
  }
  /// Sleeps while the word holds `expected`, until it is time to look. Returns false if that time
  /// ended the sleep.
  bool sleep(const word& on, std::uint32_t expected, in_line where) const noexcept {
    const bool may_be_long = where == in_line::queued && own_limit_ == nullptr &&
                             (holds_nothing_else() || looks_ > stall_clock::looks_before_long);
    const auto until =
        W::deadline_after(may_be_long ? nanoseconds{stall_clock::long_slice} : stall_clock::slice);
    return W::wait(on, expected, until) != W::wait_result::timed_out;
  }

  /// Returns the reason to leave; `acquired` if there is none.
  lock_errc look(in_line where) noexcept {
    const auto now = W::now();
    if (looks_++ == 0) {
      begin(now);
    } else {
      stalled_ += std::min<nanoseconds>(now - last_look_, stall_clock::most_counted);
    }
    last_look_ = now;
    if (own_limit_ != nullptr && W::passed(*own_limit_)) return leave(lock_errc::timed_out);
    if (tables::is_dead(lock_.address)) return leave(lock_errc::owner_dead, lock_event::owner_dead);
    if (is_victim()) return leave(lock_errc::deadlock, lock_event::deadlock);
    if (stalled_ >= limit_of(where)) return leave(lock_errc::timed_out, lock_event::stalled);
    return lock_errc::acquired;
  }

  /// Restarts the stalled time, because the waiter has moved up in the queue: the time of a new
  /// owner begins.
  void advance() noexcept {
    stalled_ = {};
    if (looks_ != 0) last_look_ = W::now();
  }

  /// Returns `deadlock` for a lock that the caller holds already, which is known without a wait.
  lock_errc deny() noexcept { return leave(lock_errc::deadlock, lock_event::deadlock); }
  /// Whether a caller without a free node is a signal handler that interrupted a wait: it must not
  /// wait for a thread that uses the nodes.
  bool is_nested_too_deep() noexcept {
    const auto* const mine = tables::own_table();
    // relaxed(owner): the thread's own word.
    if (mine == nullptr || mine->wait.load(std::memory_order_relaxed) == 0) return false;
    event_ = lock_event::nested_busy;
    return true;
  }
  /// Records that the head of the queue has given up because the lock stalls, and that all waiters
  /// behind it leave too.
  void expire() noexcept { event_ = lock_event::stalled; }
  [[nodiscard]] bool has_stalled() const noexcept { return event_ == lock_event::stalled; }

  /// Ends the wait.
  void end() noexcept {
    if (before_) tables::end_wait(*place_, lock_.address, *before_);
    before_.reset();
  }

  /// Reports to the handler why the wait failed, if the reason is one to report. Precondition: the
  /// wait has ended, and the lock's entry is removed.
  void report() const noexcept {
    if (!event_) return;
    std::array<lock_label, held_table<W>::most> held;
    const std::size_t count = held_by_caller(held);
    std::array<lock_wait, wait_graph<W>::longest> cycle;
    const bool is_of_cycle = is_of_cycle_ && *event_ == lock_event::deadlock;
    const std::size_t length = is_of_cycle ? graph_->length() : 0;
    for (std::size_t i = 0; i < length; ++i) cycle[i] = graph_->wait_of(i);
    deliver({*event_,
             {W::thread_id(), with_address(lock_), at_},
             {held.data(), count},
             {cycle.data(), length}},
            tables::inside_handler());
  }

  /// Stores the labels of the locks that the calling thread holds; these locks exist, because they
  /// are held. Returns their number.
  static std::size_t held_by_caller(std::span<lock_label> held) noexcept {
    std::size_t count = 0;
    for (const entry& each : tables::own_below(nullptr)) {
      // relaxed(owner): the thread's own word.
      const std::uint64_t found = each.load(std::memory_order_relaxed);
      // A handler may have interrupted an unlock: the lock may be gone.
      if (found == 0 || (found & entry_tag::all) == entry_tag::releasing) continue;
      const void* const lock = entry_tag::lock_of(found);
      held[count++] = nameless::is_key(lock)
                          ? lock_label{address_of_key(lock), nullptr}
                          : lock_label{lock, static_cast<const lock_name<W>*>(lock)->read()};
    }
    return count;
  }

 private:
  using nanoseconds = std::chrono::nanoseconds;
  using time_point = typename W::time_point;

  /// Makes the wait visible to other threads: not earlier, so that short waits cost nothing.
  void begin(time_point now) noexcept {
    if (place_ == nullptr) return;
    before_ =
        tables::begin_wait(*place_, lock_.address, now.time_since_epoch().count(), lock_.name, at_);
  }

  [[nodiscard]] bool holds_nothing_else() const noexcept {
    return place_ == nullptr || tables::own_below(place_).empty();
  }

  /// Whether this thread is the victim of a deadlock. A thread that holds no lock is in no cycle.
  bool is_victim() noexcept {
    if (holds_nothing_else()) return false;
    if (!graph_) graph_.emplace();
    if (!graph_->find_cycle(*place_, lock_.address)) {
      looks_at_cycle_ = 0;
      return false;
    }
    ++looks_at_cycle_;
    is_of_cycle_ = R.victim == deadlock_victim::detector || graph_->is_youngest() ||
                   looks_at_cycle_ >= stall_clock::most_looks_at_cycle;
    return is_of_cycle_;
  }

  [[nodiscard]] nanoseconds limit_of(in_line where) const noexcept {
    switch (where) {
      case in_line::pending: return limits_.pending;
      case in_line::head: return limits_.head;
      case in_line::nodeless: return stall_clock::nodeless_limit;
      case in_line::queued: return stall_limits::never;
    }
    return stall_limits::never;
  }

  lock_errc leave(lock_errc code, std::optional<lock_event> event = {}) noexcept {
    event_ = event;
    return code;
  }

  entry* place_;
  lock_label lock_;
  std::source_location at_;
  stall_limits limits_;
  const deadline* own_limit_;
  unsigned looks_ = 0;
  unsigned looks_at_cycle_ = 0;
  bool is_of_cycle_ = false;
  std::optional<lock_event> event_;
  std::optional<typename tables::interrupted> before_;
  time_point last_look_{};
  nanoseconds stalled_{};
  std::optional<wait_graph<W>> graph_;  // large, and rarely needed
};

/// The watch of locks that do not recover: there is never a reason to leave.
template <world W>
struct no_watch {
  using word = atomic<W, std::uint32_t>;

  template <class Predicate, class Policy>
  static std::optional<std::uint32_t> await(const word& on, Predicate predicate, Policy&& policy,
                                            bool sleeps_then) noexcept {
    // relaxed(revalidated): as in stall_watch.
    if (!sleeps_then) return W::await(on, predicate, std::memory_order_relaxed, policy);
    // relaxed(revalidated): as above.
    return W::await(on, predicate, std::memory_order_relaxed, policy,
                    W::spin_limit(stall_clock::first_slice));
  }
  static bool sleep(const word& on, std::uint32_t expected, in_line /*where*/) noexcept {
    W::wait(on, expected);
    return true;
  }
  static constexpr lock_errc look(in_line /*where*/) noexcept { return lock_errc::acquired; }
  static constexpr void advance() noexcept {}
  static constexpr void expire() noexcept {}
  static constexpr bool has_stalled() noexcept { return false; }
  static constexpr bool is_nested_too_deep() noexcept { return false; }
};

}  // namespace lockyard::inline v0::detail
