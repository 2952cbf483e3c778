// SPDX-License-Identifier: Apache-2.0
#pragma once

// The harness's lock-free data structures, in clients whose nodes are used again.

#include <checker/registry.hpp>

#include <patterns/lock_free.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::checker {

/// Each thread takes nodes, changes their content, and puts them back; the first thread takes two
/// at a time, so that the node below, which another thread has seen, may be in use.
template <class Stack>
class lock_free_stack_client : public model::client {
 public:
  explicit lock_free_stack_client(const model::client_size& size)
      : threads_{size.threads}, acquisitions_{size.acquisitions} {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) stack_.put(i);
  }

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return index == 0 ? 0 : 1;
  }

  void thread(unsigned index) override {
    if (index == 0) return take_two();
    for (unsigned i = 0; i < acquisitions_; ++i) {
      if (const auto mine = stack_.take()) give_back(*mine);
    }
  }

  void finish() override {
    model::require(stack_.size() == nodes_.size(), "every node is on the stack again");
  }

 private:
  void take_two() {
    const auto one = stack_.take();
    const auto other = stack_.take();
    if (one) give_back(*one);
    if (other) give_back(*other);
  }
  void give_back(std::uint32_t index) {
    auto& used = nodes_[index].used;
    used.write(used.read() + 1);
    stack_.put(index);
  }

  unsigned threads_;
  unsigned acquisitions_;
  std::array<typename Stack::node, 2> nodes_{};
  Stack stack_{nodes_};
};

/// Each thread puts a number and takes one, several times: there is always one to take. The
/// numbers of one thread, as any thread takes them, rise.
template <class Queue>
class lock_free_queue_client : public model::client {
 public:
  explicit lock_free_queue_client(const model::client_size& size)
      : threads_{size.threads}, acquisitions_{size.acquisitions} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    std::uint32_t node = 1 + index;
    std::array<std::uint64_t, most_threads> last{};
    for (std::uint64_t i = 1; i <= acquisitions_; ++i) {
      queue_.put(node, index * numbers + i);
      const auto found = queue_.take();
      model::require(found.has_value(), "a thread that has put a number finds one");
      if (!found) return;
      node = found->freed;
      std::uint64_t& before = last[found->value / numbers];
      model::require(found->value % numbers > before, "each number comes once, in its order");
      before = found->value % numbers;
      sum_.fetch_add(found->value, std::memory_order_relaxed);
    }
  }

  void finish() override {
    std::uint64_t sum = 0;
    for (std::uint64_t each = 0; each < threads_; ++each) {
      for (std::uint64_t i = 1; i <= acquisitions_; ++i) sum += each * numbers + i;
    }
    model::require(queue_.size() == 0, "the queue is empty");
    model::require(sum_.load(std::memory_order_relaxed) == sum, "every number was taken");
  }

 private:
  static constexpr std::size_t most_threads = 3;
  static constexpr std::uint64_t numbers = 100;  ///< more than a thread puts

  unsigned threads_;
  unsigned acquisitions_;
  std::array<typename Queue::node, 1 + most_threads> nodes_{};
  Queue queue_{nodes_};
  model::word<std::uint64_t> sum_{0};
};

/// Threads that add; no addition is lost.
template <class Counter>
class lock_free_counter_client : public model::client {
 public:
  explicit lock_free_counter_client(const model::client_size& size)
      : threads_{size.threads}, acquisitions_{size.acquisitions} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned /*index*/) const override { return 0; }
  void thread(unsigned /*index*/) override {
    for (unsigned i = 0; i < acquisitions_; ++i) counter_.add();
  }
  void finish() override {
    model::require(counter_.value() == threads_ * acquisitions_, "no addition is lost");
  }

 private:
  unsigned threads_;
  unsigned acquisitions_;
  Counter counter_;
};

}  // namespace lockyard::checker
