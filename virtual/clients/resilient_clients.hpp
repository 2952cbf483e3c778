// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resilient locks from where their recovery matters on.

#include <checker/registry.hpp>

#include <lockyard/detail/resilient_line.hpp>
#include <lockyard/resilient/resilient_spinlock.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::checker {

/// Chance in the place of a stall_watch: where the time of a slice is up a waiter stays, or leaves
/// as from a lock that stalls, or as from a deadlock. Sleeps have no end but a wake-up.
template <world W>
class chance_watch {
 public:
  using word = atomic<W, std::uint32_t>;

  template <class Predicate, class Policy>
  std::optional<std::uint32_t> await(const word& on, Predicate predicate, Policy&& policy,
                                     bool sleeps_then) const noexcept {
    const auto limit = sleeps_then ? W::spin_limit() : W::deadline_after(std::chrono::seconds{1});
    // relaxed(revalidated): as in stall_watch.
    return W::await(on, predicate, std::memory_order_relaxed, policy, limit);
  }
  static bool sleep(const word& on, std::uint32_t expected, detail::in_line /*where*/) noexcept {
    W::wait(on, expected);
    return true;
  }
  lock_errc look(detail::in_line where) noexcept {
    if (may_leave_ == 0 || W::random() == 0) return lock_errc::acquired;
    --may_leave_;
    if (where == detail::in_line::queued || W::random() == 0) return lock_errc::deadlock;
    has_stalled_ = true;
    return lock_errc::timed_out;
  }
  static void advance() noexcept {}
  void expire() noexcept { has_stalled_ = true; }
  [[nodiscard]] bool has_stalled() const noexcept { return has_stalled_; }
  static bool is_nested_too_deep() noexcept { return false; }

 private:
  unsigned may_leave_ = 1;
  bool has_stalled_ = false;
};

/// The properties of a client of the line.
struct line_variant {
  bool owner_returns = false;    ///< the first thread acquires again
  bool nodes_were_used = false;  ///< and may leave something behind
};

/// Threads that acquire, or leave. The lock is held in the beginning; the first thread releases it.
/// In the end it is free: no bit, no tail and no node has been left behind.
template <class Line, line_variant Variant = line_variant{}, world W = model::model>
class line_client : public model::client {
 public:
  explicit line_client(const model::client_size& size) : size_{size} {
    std::uint32_t found = 0;
    model::require(line_.take(found), "it is free in the beginning");
  }

  [[nodiscard]] unsigned threads() const override { return size_.threads; }

  void thread(unsigned index) override {
    if (Variant.nodes_were_used) {
      const std::uint32_t used = Line::nodes::claim(1);
      // relaxed(owner): as release_node() does it.
      Line::nodes::of(used).store(0, std::memory_order_relaxed);
    }
    if (index == 0) leave();
    if (index == 0 && !Variant.owner_returns) return;
    for (unsigned left = size_.acquisitions; left > 0; --left) {
      std::uint32_t found = 0;
      chance_watch<W> watch;
      if (line_.take(found) || line_.barge() ||
          line_.acquire_contended(found, watch) == lock_errc::acquired) {
        leave();
      }
    }
  }

  void finish() override {
    std::uint32_t found = 0;
    model::require(line_.take(found), "neither a pending bit nor a tail is left");
    for (std::uint32_t number = 1; number <= Line::nodes::last; ++number) {
      // relaxed(owner): no other thread is left.
      model::require(Line::nodes::of(number).load(std::memory_order_relaxed) == 0,
                     "every node is given back");
    }
  }

 private:
  void leave() {
    count_.write(count_.read() + 1);
    line_.release();
  }

  model::client_size size_;
  Line line_;
  model::plain_data<unsigned> count_{0};
};

/// A world whose clock stands still, so that locks do not stall.
struct timeless : model::model {
  using unwatched = timeless;
  static time_point now() noexcept { return {}; }
};

using timeless_lock =
    basic_resilient_spinlock<timeless, resilience{.victim = deadlock_victim::detector}>;

/// The same without a name, whose key in the tables is not its address.
using timeless_unnamed_lock =
    basic_resilient_spinlock<timeless,
                             resilience{.named = false, .victim = deadlock_victim::detector}>;

/// A thread that ends while it holds a lock, and one that comes upon what it left behind.
template <world W>
class dead_owner_client : public model::client {
 public:
  explicit dead_owner_client(const model::client_size& /*size*/) {}

  [[nodiscard]] unsigned threads() const override { return 2; }

  void thread(unsigned index) override {
    using tables = lockyard::detail::held_locks<W>;
    if (index == 0) {
      tables::enter(&lock_);
      data_.write(1);
    } else if (tables::is_dead(&lock_) && tables::exhume(&lock_)) {
      model::require(data_.read() == 1, "what the dead owner did is seen");
      model::require(!tables::exhume(&lock_), "one thread alone takes the lock over");
    }
  }

 private:
  lockyard::detail::lock_name<W> lock_;
  model::plain_data<unsigned> data_{0};
};

/// Two threads that are never in a deadlock, and may not be told so.
template <class Lock>
class cycle_client : public model::client {
 public:
  explicit cycle_client(const model::client_size& /*size*/) {}

  [[nodiscard]] unsigned threads() const override { return 2; }

 protected:
  /// Locks, and says whether it has the lock.
  bool acquire(std::size_t which) {
    const lock_result how = locks_[which].lock();
    model::require(static_cast<bool>(how), "no cycle is found that never was");
    return enter(which, how);
  }
  void release(std::size_t which) { locks_[which].unlock(); }

 private:
  bool enter(std::size_t which, lock_result how) {
    if (how) counts_[which].write(counts_[which].read() + 1);
    return static_cast<bool>(how);
  }

  std::array<Lock, 3> locks_{};
  std::array<model::plain_data<unsigned>, 3> counts_{};
};

/// Two threads that hold a lock each and begin to wait for the other's: the one that begins last
/// finds the cycle, at its first look.
template <world W>
class abba_client : public model::client {
 public:
  explicit abba_client(const model::client_size& /*size*/) {}

  [[nodiscard]] unsigned threads() const override { return 2; }

  void thread(unsigned index) override {
    using tables = lockyard::detail::held_locks<W>;
    tables::enter(&locks_[index]);
    const lock_name* const wanted = &locks_[1 - index];
    auto* const place = tables::enter(wanted);
    const auto before = tables::begin_wait(*place, wanted, 0, nullptr, {});
    lockyard::detail::wait_graph<W> graph;
    found_[index].write(graph.find_cycle(*place, wanted));
    // relaxed(atomicity): nothing but a count.
    looked_.fetch_add(1, std::memory_order_relaxed);
    const auto is_two = [](std::uint32_t count) noexcept { return count == 2; };
    // relaxed(hint): as above.
    W::await(looked_, is_two, std::memory_order_relaxed, wait_policies::busy{});
    tables::end_wait(*place, wanted, before);
  }

  void finish() override {
    model::require(found_[0].read() || found_[1].read(), "the last one finds the cycle");
  }

 private:
  using lock_name = lockyard::detail::lock_name<W>;
  std::array<lock_name, 2> locks_{};
  atomic<W, std::uint32_t> looked_{0};
  std::array<model::plain_data<bool>, 2> found_{};
};

/// The second thread waits for the first lock while it holds the last one. The first thread has
/// that lock and leaves it before it waits for the other: a table read half before and half after
/// would show a cycle.
template <class Lock>
class moved_on_client : public cycle_client<Lock> {
 public:
  using cycle_client<Lock>::cycle_client;

  void thread(unsigned index) override {
    if (index == 0) {
      this->acquire(0);
      this->release(0);
      this->acquire(1);
      this->acquire(2);
      this->release(2);
      this->release(1);
    } else {
      this->acquire(2);
      this->acquire(0);
      this->release(0);
      this->release(2);
    }
  }
};

/// The same in the other order, and of tables alone: the first thread begins to wait for the
/// second one's lock, gives up, and only then holds what that one waits for.
template <world W>
class gave_up_client : public model::client {
 public:
  explicit gave_up_client(const model::client_size& /*size*/) {}

  [[nodiscard]] unsigned threads() const override { return 2; }

  void thread(unsigned index) override {
    if (index == 0) {
      auto* const other = tables::enter(&other_);
      auto* const wanted = tables::enter(&its_);
      tables::end_wait(*wanted, &its_, tables::begin_wait(*wanted, &its_, 0, nullptr, {}));
      tables::remove(wanted);
      tables::remove(other);
      tables::enter(&mine_);
    } else {
      tables::enter(&its_);
      auto* const wanted = tables::enter(&mine_);
      const auto before = tables::begin_wait(*wanted, &mine_, 0, nullptr, {});
      lockyard::detail::wait_graph<W> graph;
      model::require(!graph.find_cycle(*wanted, &mine_), "no cycle is found that never was");
      tables::end_wait(*wanted, &mine_, before);
    }
  }

 private:
  using tables = lockyard::detail::held_locks<W>;
  lockyard::detail::lock_name<W> other_, mine_, its_;
};

}  // namespace lockyard::checker
