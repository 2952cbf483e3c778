// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the size of all locks does not come by in the catalogue's queue locks.

#include <checker/registry.hpp>

#include <lockyard/detail/queue_nodes.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace lockyard::checker {

/// Three threads, the first of which comes back: it may find one that owns, one that is next, and
/// one in line behind that one, with far fewer executions than four threads have.
template <class Lock>
class returning_client : public model::client {
 public:
  explicit returning_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return index == 0 ? 0 : 1;
  }
  /// Worlds that have no slot for the first thread may have slots for the others.
  [[nodiscard]] bool compares_names_only() const override { return true; }

  void thread(unsigned index) override {
    for (unsigned left = index == 0 ? 2 : 1; left > 0; --left) {
      lock_.lock();
      count_.write(count_.read() + 1);
      lock_.unlock();
    }
  }

  void finish() override { model::require(count_.read() == threads_ + 1, "no update is lost"); }

 private:
  unsigned threads_;
  Lock lock_;
  model::plain_data<unsigned> count_{0};
};

/// The same with nodes that have been used before: what the last use left, and its end by a relaxed
/// zero, must be out of the way of those behind. Acquisitions as first use would take minutes.
template <class Lock>
class reuse_client : public returning_client<Lock> {
 public:
  using returning_client<Lock>::returning_client;

  void thread(unsigned index) override {
    using nodes = lockyard::detail::queue_nodes<model::model>;
    const std::uint32_t used = nodes::claim(1);
    nodes::of(used).store(0, std::memory_order_relaxed);
    returning_client<Lock>::thread(index);
  }
};

/// A world whose threads may run on either of two NUMA nodes whenever a lock asks.
struct wandering : model::model {
  static std::uint32_t numa_node() noexcept { return random(); }
};

/// A lock that the first thread holds from the beginning, and releases; the other threads acquire
/// it once each. So they may all wait at the same time, in any order.
template <class Lock>
class queued_client : public model::client {
 public:
  explicit queued_client(const model::client_size& size) : threads_{size.threads} { lock_.lock(); }

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return index == 0 ? 0 : 1;
  }

  void thread(unsigned index) override {
    if (index != 0) lock_.lock();
    count_.write(count_.read() + 1);
    lock_.unlock();
  }

  void finish() override { model::require(count_.read() == threads_, "no update is lost"); }

 private:
  unsigned threads_;
  Lock lock_;
  model::plain_data<unsigned> count_{0};
};

/// A world whose threads have no slot, and so no nodes.
struct nodeless : model::model {
  static std::uint32_t thread_slot() noexcept { return no_slot; }
};

/// The same for the first thread alone.
struct first_nodeless : model::model {
  static std::uint32_t thread_slot() noexcept {
    const std::uint32_t slot = model::model::thread_slot();
    return slot == 0 ? no_slot : slot;
  }
};

/// Threads that go through one lock and then another: where the one behind is slow to let go
/// of a node of the first lock, a thread waits for the second with a node more.
template <class Lock>
class two_locks_client : public model::client {
 public:
  explicit two_locks_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned /*index*/) const override { return 0; }
  [[nodiscard]] bool compares_names_only() const override { return true; }

  void thread(unsigned /*index*/) override {
    first_.lock();
    first_.unlock();
    second_.lock();
    count_.write(count_.read() + 1);
    second_.unlock();
  }

  void finish() override { model::require(count_.read() == threads_, "no update is lost"); }

 private:
  unsigned threads_;
  Lock first_, second_;
  model::plain_data<unsigned> count_{0};
};

/// A queue lock with its nodes at its users, as in its guard; but the first thread has none, so
/// that both forms meet. A node begins and ends with each acquisition.
template <class Queue>
class by_node {
 public:
  void lock() noexcept { is_plain() ? queue_.lock() : queue_.lock(*::new (place().bytes) node); }
  [[nodiscard]] bool try_lock() noexcept {
    if (is_plain()) return queue_.try_lock();
    node& mine = *::new (place().bytes) node;
    const bool acquired = queue_.try_lock(mine);
    if (!acquired) mine.~node();
    return acquired;
  }
  void unlock() noexcept {
    if (is_plain()) return queue_.unlock();
    node& mine = *std::launder(reinterpret_cast<node*>(place().bytes));
    queue_.unlock(mine);
    mine.~node();
  }

 private:
  using node = typename Queue::node;
  struct storage {
    alignas(node) std::byte bytes[sizeof(node)];
  };
  static bool is_plain() noexcept { return model::model::thread_slot() == 0; }
  static storage& place() noexcept { return model::model::thread_state<storage>(); }

  Queue queue_;
};

}  // namespace lockyard::checker
