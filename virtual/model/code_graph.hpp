// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shared_memory.hpp"

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace lockyard::model {

/// What the code of threads goes through: its states, named by hashes, and the steps between them.
/// Shared by all workers, which may be processes.
///
/// Some steps are steps back, and each cycle has one: a new step is one if it closes a cycle with
/// steps that are none. It remains what it is, for all workers, so two executions that go around
/// one cycle count the same steps.
class code_graph {
 public:
  /// From one state of the code to another one, or to the same.
  using step = std::pair<std::uint64_t, std::uint64_t>;

  code_graph();

  /// Learns the step if it is new. A step counts as one back too if there is no room for it, or if
  /// it would take long to find out.
  bool is_step_back(const step& of);

 private:
  using index = std::uint32_t;
  template <class Key, class Value>
  using shared_map = absl::flat_hash_map<Key, Value, absl::Hash<Key>, std::equal_to<Key>,
                                         shared_allocator<std::pair<const Key, Value>>>;
  static constexpr std::size_t max_steps = std::size_t{1} << 18U;
  static constexpr std::size_t max_raised = 4096;
  static constexpr index none = max_steps;

  /// Each step that is none back leads to a higher level.
  struct node {
    index level;
    index last_way;  ///< from it
  };
  struct way {
    index to;
    index before;  ///< from the same node
  };
  struct raised_node {
    index node;
    index level;  ///< before
  };
  struct books {
    explicit books(shared_pool& pool);

    process_mutex lock;
    shared_map<std::uint64_t, index> names;
    shared_map<step, bool> steps;
    std::array<node, 2 * max_steps> nodes;
    std::array<way, max_steps> ways;
    index ways_known = 0;
  };

  [[nodiscard]] index node_of(std::uint64_t name);
  [[nodiscard]] bool closes_cycle(index from, index to);

  shared_pool pool_;
  shared<books> books_;
};

/// What one worker knows of the graph.
class known_steps {
 public:
  explicit known_steps(code_graph& all) : all_{all} {}

  bool is_step_back(const code_graph::step& of) {
    const auto [at, is_new] = known_.try_emplace(of, false);
    if (is_new) at->second = all_.is_step_back(of);
    return at->second;
  }

 private:
  code_graph& all_;
  absl::flat_hash_map<code_graph::step, bool> known_;
};

}  // namespace lockyard::model
