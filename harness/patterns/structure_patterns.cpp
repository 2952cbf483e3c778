// SPDX-License-Identifier: Apache-2.0
#include "locked_data.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <unordered_map>

namespace lockyard::harness {

namespace {

/// A list of nodes: one is taken from its front, and later put back there.
struct free_list {
  struct node {
    node* next = nullptr;
    std::uint64_t used = 0;
  };

  std::array<node, 64> nodes{};
  node* first = nullptr;
  std::uint64_t operations = 0;

  free_list() {
    for (node& each : nodes) put(&each);
    operations = 0;
  }
  node* take() noexcept {
    node* const found = first;
    if (found != nullptr) first = found->next;
    return found;
  }
  void put(node* one) noexcept {
    one->next = first;
    first = one;
    operations = operations + 1;
  }
};

class list_pattern final : public locked_data<free_list> {
 public:
  using locked_data::locked_data;

  void step(pattern_thread& by) override {
    const any_lock guard = lock();
    free_list::node* taken = nullptr;
    {
      const std::lock_guard held{guard};
      taken = data().take();
      by.work.hold();
    }
    const std::lock_guard held{guard};
    if (taken != nullptr) {
      taken->used += 1;
      data().put(taken);
    } else {
      data().operations += 1;  // more threads than nodes
    }
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    std::size_t linked = 0;
    for (const auto* each = data().first; each != nullptr && linked <= data().nodes.size();
         each = each->next) {
      ++linked;
    }
    return data().operations == operations && linked == data().nodes.size();
  }
};

/// A ring that half-way holds numbers; an operation puts one in and takes one out.
struct number_ring {
  static constexpr std::uint64_t room = 256;
  std::array<std::uint64_t, room> numbers{};
  std::uint64_t put = room / 2;
  std::uint64_t taken = 0;
};

class queue_pattern final : public locked_data<number_ring> {
 public:
  using locked_data::locked_data;

  void step(pattern_thread& by) override {
    const any_lock guard = lock();
    const std::lock_guard held{guard};
    number_ring& ring = data();
    ring.numbers[ring.put++ % number_ring::room] = by.number;
    ring.taken = ring.taken + 1;
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return data().taken == operations && data().put - data().taken == number_ring::room / 2;
  }
};

/// A hash map: of 20 operations 18 look a key up, one inserts and one erases.
struct counted_map {
  static constexpr std::uint64_t keys = 4096;
  std::unordered_map<std::uint64_t, std::uint64_t> values;
  std::uint64_t operations = 0;
  std::uint64_t found = 0;

  counted_map() {
    for (std::uint64_t key = 0; key < keys; key += 2) values.emplace(key, key);
  }
  void use(std::uint64_t drawn) {
    const std::uint64_t key = drawn / 20 % keys;
    operations = operations + 1;
    if (drawn % 20 == 0) {
      values.emplace(key, key);
    } else if (drawn % 20 == 1) {
      values.erase(key);
    } else {
      found += values.contains(key) ? 1 : 0;
    }
  }
};

class map_pattern final : public locked_data<counted_map> {
 public:
  using locked_data::locked_data;

  void step(pattern_thread& by) override {
    const std::uint64_t drawn = by.draws.next() >> 8;
    const any_lock guard = lock();
    const std::lock_guard held{guard};
    data().use(drawn);
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    for (const auto& [key, value] : data().values) {
      if (key != value || key >= counted_map::keys) return false;
    }
    return data().operations == operations;
  }
};

/// A cache of the keys that were used last: every look-up changes its order.
struct recent_keys {
  static constexpr std::size_t room = 1024;
  static constexpr std::uint64_t keys = 2048;
  std::list<std::uint64_t> order;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places;
  std::uint64_t operations = 0;

  void use(std::uint64_t key) {
    operations = operations + 1;
    if (const auto found = places.find(key); found != places.end()) {
      order.splice(order.begin(), order, found->second);
      return;
    }
    if (order.size() == room) {
      places.erase(order.back());
      order.pop_back();
    }
    order.push_front(key);
    places.emplace(key, order.begin());
  }
};

class cache_pattern final : public locked_data<recent_keys> {
 public:
  using locked_data::locked_data;

  void step(pattern_thread& by) override {
    // The smaller of two numbers: some keys are used more often than others.
    const std::uint64_t key = std::min(by.draws.next() >> 8U, by.draws.next() >> 8U);
    const any_lock guard = lock();
    const std::lock_guard held{guard};
    data().use(key % recent_keys::keys);
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return data().operations == operations && data().order.size() == data().places.size();
  }
};

template <class Pattern>
std::unique_ptr<pattern> make(const job& of, const subject& lock) {
  return std::make_unique<Pattern>(lock, of.seed);
}

}  // namespace

std::vector<listed_pattern> structure_patterns() {
  return {
      {"list", "data", 2, make<list_pattern>},
      {"queue", "data", 1, make<queue_pattern>},
      {"hash_map", "data", 1, make<map_pattern>},
      {"lru_cache", "data", 1, make<cache_pattern>},
  };
}

}  // namespace lockyard::harness
