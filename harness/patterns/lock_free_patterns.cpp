// SPDX-License-Identifier: Apache-2.0

// What the data of some workloads permit without a lock: a counter by atomic additions, Treiber's
// stack, and Michael and Scott's queue. Nodes are never freed, and a tag next to each index
// prevents that an exchange succeeds after its node was removed and came back.

#include "pattern.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr std::uint32_t no_node = UINT32_MAX;

/// An index with the number of its changes, in one atomic word.
struct link {
  std::uint32_t index = no_node;
  std::uint32_t tag = 0;

  [[nodiscard]] link changed_to(std::uint32_t next) const noexcept {
    return {.index = next, .tag = tag + 1};
  }
  bool operator==(const link&) const = default;
};
using atomic_link = std::atomic<link>;
static_assert(atomic_link::is_always_lock_free);

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

class lock_free_counter final : public lock_free_pattern {
 public:
  using lock_free_pattern::lock_free_pattern;

  void step(pattern_thread& by) override {
    // relaxed(atomicity): a count.
    count_.fetch_add(1, std::memory_order_relaxed);
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    // relaxed(owner): no thread is left.
    return count_.load(std::memory_order_relaxed) == operations;
  }

 private:
  alignas(lock_spacing) std::atomic<std::uint64_t> count_{0};
};

/// As the workload `list`: a node is taken from the front, and later put back.
class lock_free_stack final : public lock_free_pattern {
 public:
  lock_free_stack(const job& of, const subject& lock) : lock_free_pattern{of, lock} {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) put(i);
  }

  void step(pattern_thread& by) override {
    const auto taken = take();
    by.work.hold();
    if (taken) {
      nodes_[*taken].used += 1;
      put(*taken);
    }
    count(by);
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    std::size_t linked = 0;
    // relaxed(owner): no thread is left.
    std::uint32_t each = first_.load(std::memory_order_relaxed).index;
    while (each != no_node && linked <= nodes_.size()) {
      ++linked;
      // relaxed(owner): as above.
      each = nodes_[each].next.load(std::memory_order_relaxed);
    }
    return linked == nodes_.size() && counted() == operations;
  }

 private:
  struct node {
    std::atomic<std::uint32_t> next{no_node};
    std::uint64_t used = 0;
  };

  std::optional<std::uint32_t> take() noexcept {
    // order[taken]: acquire; pairs [put]; the node's content is the last user's.
    link seen = first_.load(std::memory_order_acquire);
    while (seen.index != no_node) {
      // relaxed(revalidated): another thread may have taken it; then the exchange fails.
      const std::uint32_t next = nodes_[seen.index].next.load(std::memory_order_relaxed);
      // order[taken_again]: acquire; pairs [put]; as above, for the value that the next round uses.
      if (first_.compare_exchange_weak(seen, seen.changed_to(next), std::memory_order_acquire)) {
        return seen.index;
      }
    }
    return std::nullopt;
  }
  void put(std::uint32_t index) noexcept {
    // relaxed(revalidated): the exchange decides.
    link seen = first_.load(std::memory_order_relaxed);
    do {
      // relaxed(unpublished): the exchange publishes it.
      nodes_[index].next.store(seen.index, std::memory_order_relaxed);
      // order[put]: release; pairs [taken, taken_again]; publishes the node's content.
      // relaxed(revalidated): a failure only brings the value to try with.
    } while (!first_.compare_exchange_weak(seen, seen.changed_to(index), std::memory_order_release,
                                           std::memory_order_relaxed));
  }

  alignas(lock_spacing) atomic_link first_;
  alignas(lock_spacing) std::array<node, 64> nodes_{};
};

/// As the workload `queue`: a number is put in and one of 128 is taken out. Each thread has a node
/// to put in; taking a number out gives it another one.
class lock_free_queue final : public lock_free_pattern {
 public:
  lock_free_queue(const job& of, const subject& lock)
      : lock_free_pattern{of, lock}, nodes_(1 + numbers + of.threads), spare_(of.threads) {
    // relaxed(unpublished): no other thread exists yet; also below.
    head_.store({.index = 0}, std::memory_order_relaxed);
    tail_.store({.index = 0}, std::memory_order_relaxed);  // relaxed(unpublished): as above
    for (std::uint32_t i = 1; i <= numbers; ++i) put(i, i);
    for (std::uint32_t i = 0; i < of.threads; ++i) spare_[i].index = 1 + numbers + i;
  }

  void step(pattern_thread& by) override {
    own_node& mine = spare_[by.number];
    put(mine.index, by.number);
    const auto [freed, value] = take();
    mine.index = freed;
    mine.sum += value;
    by.work.hold();
    count(by);
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    std::uint32_t linked = 0;
    // relaxed(owner): no thread is left; also below.
    std::uint32_t each = head_.load(std::memory_order_relaxed).index;
    while (each != no_node && linked <= nodes_.size()) {
      ++linked;
      // relaxed(owner): as above.
      each = nodes_[each].next.load(std::memory_order_relaxed).index;
    }
    return linked == 1 + numbers && counted() == operations;
  }

 private:
  static constexpr std::uint32_t numbers = 128;

  struct alignas(lock_spacing) node {
    atomic_link next;
    std::atomic<std::uint64_t> number{0};
  };
  struct alignas(lock_spacing) own_node {
    std::uint32_t index = no_node;
    std::uint64_t sum = 0;  ///< the taken numbers
  };
  struct taken {
    std::uint32_t freed;
    std::uint64_t value;
  };

  void put(std::uint32_t index, std::uint64_t number) noexcept {
    node& added = nodes_[index];
    // relaxed(unpublished): the exchange of the last node's link publishes both.
    added.number.store(number, std::memory_order_relaxed);
    // relaxed(unpublished): as above; the tag grows, so that a late exchange fails.
    added.next.store(added.next.load(std::memory_order_relaxed).changed_to(no_node),
                     std::memory_order_relaxed);
    for (;;) {
      // order[tail_seen]: acquire; pairs [tail_moved]; the last node's link was reset before.
      const link last = tail_.load(std::memory_order_acquire);
      // order[next_seen]: acquire; pairs [linked]; the node that follows is complete.
      link next = nodes_[last.index].next.load(std::memory_order_acquire);
      if (next.index != no_node) {
        move(tail_, last, next.index);
        continue;
      }
      // order[linked]: release; pairs [next_seen, next_taken]; publishes the node.
      // relaxed(revalidated): a failure starts again.
      if (nodes_[last.index].next.compare_exchange_strong(
              next, next.changed_to(index), std::memory_order_release, std::memory_order_relaxed)) {
        move(tail_, last, index);
        return;
      }
    }
  }
  /// Returns the first number, and the node that is free now. The queue is never empty: each thread
  /// puts first.
  taken take() noexcept {
    for (;;) {
      // order[head_seen]: acquire; pairs [tail_moved]; the first node's link was reset before.
      const link first = head_.load(std::memory_order_acquire);
      // order[tail_seen_too]: acquire; pairs [tail_moved]; as in put.
      const link last = tail_.load(std::memory_order_acquire);
      // order[next_taken]: acquire; pairs [linked]; the number is the one that was put.
      const link next = nodes_[first.index].next.load(std::memory_order_acquire);
      if (next.index == no_node) continue;
      if (first.index == last.index) {
        move(tail_, last, next.index);
        continue;
      }
      // relaxed(revalidated): another thread may have taken it; then the exchange fails.
      const std::uint64_t value = nodes_[next.index].number.load(std::memory_order_relaxed);
      if (move(head_, first, next.index)) return {.freed = first.index, .value = value};
    }
  }
  static bool move(atomic_link& which, link from, std::uint32_t to) noexcept {
    // order[tail_moved]: release; pairs [tail_seen, tail_seen_too, head_seen]; hands on what this
    // thread has seen of the node. relaxed(revalidated): after a failure the caller looks again.
    return which.compare_exchange_strong(from, from.changed_to(to), std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  alignas(lock_spacing) atomic_link head_;
  alignas(lock_spacing) atomic_link tail_;
  std::vector<node> nodes_;
  std::vector<own_node> spare_;
};

}  // namespace

std::unique_ptr<pattern> lock_free_counterpart(std::string_view workload, const job& of,
                                               const subject& lock) {
  if (workload == "one_apart") return std::make_unique<lock_free_counter>(of, lock);
  if (workload == "list") return std::make_unique<lock_free_stack>(of, lock);
  if (workload == "queue") return std::make_unique<lock_free_queue>(of, lock);
  return nullptr;
}

}  // namespace lockyard::harness
