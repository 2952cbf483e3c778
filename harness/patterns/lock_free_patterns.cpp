// SPDX-License-Identifier: Apache-2.0

// What the data of some workloads permit without a lock (lock_free.hpp).

#include "lock_free.hpp"
#include "pattern.hpp"

#include <lockyard/world/native.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace lockyard::harness {

namespace {

/// Counts the operations of each thread, in a cache line of its own.
class lock_free_pattern : public pattern {
 public:
  lock_free_pattern(const job& of, const subject& lock) : lock_{lock, 1}, done_(of.threads) {}

  [[nodiscard]] void* main_lock() const final { return lock_.first(); }

 protected:
  void count(const pattern_thread& by) noexcept { done_[by.number].operations += 1; }
  [[nodiscard]] std::uint64_t counted() const noexcept {
    return std::accumulate(
        done_.begin(), done_.end(), std::uint64_t{0},
        [](std::uint64_t sum, const own_count& each) { return sum + each.operations; });
  }

 private:
  struct alignas(lock_spacing) own_count {
    std::uint64_t operations = 0;
  };

  lock_row lock_;
  std::vector<own_count> done_;
};

class lock_free_counter_pattern final : public lock_free_pattern {
 public:
  using lock_free_pattern::lock_free_pattern;

  void step(pattern_thread& by) override {
    counter_.add();
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return counter_.value() == operations;
  }

 private:
  lock_free_counter<native> counter_;
};

/// As the workload `list`: a node is taken from the front, and later put back.
class lock_free_stack_pattern final : public lock_free_pattern {
 public:
  lock_free_stack_pattern(const job& of, const subject& lock) : lock_free_pattern{of, lock} {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) stack_.put(i);
  }

  void step(pattern_thread& by) override {
    const auto taken = stack_.take();
    by.work.hold();
    if (taken) {
      auto& used = nodes_[*taken].used;
      used.write(used.read() + 1);
      stack_.put(*taken);
    }
    count(by);
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return stack_.size() == nodes_.size() && counted() == operations;
  }

 private:
  using stack = lock_free_stack<native>;

  alignas(lock_spacing) std::array<stack::node, 64> nodes_{};
  stack stack_{nodes_};
};

/// As the workload `queue`: a number is put in and one of 128 is taken out. Each thread has a node
/// to put in; taking a number out gives it another one.
class lock_free_queue_pattern final : public lock_free_pattern {
 public:
  lock_free_queue_pattern(const job& of, const subject& lock)
      : lock_free_pattern{of, lock}, nodes_(1 + numbers + of.threads), spare_(of.threads) {
    for (std::uint32_t i = 1; i <= numbers; ++i) queue_.put(i, i);
    for (std::uint32_t i = 0; i < of.threads; ++i) spare_[i].index = 1 + numbers + i;
  }

  void step(pattern_thread& by) override {
    own_node& mine = spare_[by.number];
    // Without a node of its own the thread does nothing more, and the count tells.
    if (mine.index == link::nothing) return;
    queue_.put(std::exchange(mine.index, link::nothing), by.number);
    if (const auto found = queue_.take()) {
      mine.index = found->freed;
      mine.sum += found->value;
      count(by);
    }
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return queue_.size() == numbers && counted() == operations;
  }

 private:
  using queue = lock_free_queue<native>;
  static constexpr std::uint32_t numbers = 128;

  struct alignas(lock_spacing) own_node {
    std::uint32_t index = link::nothing;
    std::uint64_t sum = 0;  ///< the taken numbers
  };

  std::vector<queue::node> nodes_;
  queue queue_{nodes_};
  std::vector<own_node> spare_;
};

}  // namespace

std::unique_ptr<pattern> lock_free_counterpart(std::string_view workload, const job& of,
                                               const subject& lock) {
  if (workload == "one_apart") return std::make_unique<lock_free_counter_pattern>(of, lock);
  if (workload == "list") return std::make_unique<lock_free_stack_pattern>(of, lock);
  if (workload == "queue") return std::make_unique<lock_free_queue_pattern>(of, lock);
  return nullptr;
}

}  // namespace lockyard::harness
