// SPDX-License-Identifier: Apache-2.0
#include "code_graph.hpp"

#include <algorithm>
#include <mutex>
#include <ranges>
#include <vector>

namespace lockyard::model {

namespace {

/// The tables of the steps and of the names, each with those that it has outgrown.
constexpr std::size_t pool_bytes = std::size_t{1} << 27U;

}  // namespace

code_graph::books::books(shared_pool& pool)
    : names{shared_allocator<std::pair<const std::uint64_t, index>>{pool}},
      steps{shared_allocator<std::pair<const step, bool>>{pool}} {}

code_graph::code_graph() : pool_{pool_bytes}, books_{pool_} {}

bool code_graph::is_step_back(const step& of) {
  const auto [from, to] = of;
  if (from == to) return true;
  const std::scoped_lock guard{books_->lock};
  const auto known = books_->steps.find(of);
  if (known != books_->steps.end()) return known->second;
  if (books_->steps.size() >= max_steps) return true;
  const index begin = node_of(from);
  const index end = node_of(to);
  const bool is_back = closes_cycle(begin, end);
  books_->steps.emplace(of, is_back);
  if (!is_back) {
    const index next = books_->ways_known++;
    books_->ways[next] = {.to = end, .before = books_->nodes[begin].last_way};
    books_->nodes[begin].last_way = next;
  }
  return is_back;
}

code_graph::index code_graph::node_of(std::uint64_t name) {
  const auto next = static_cast<index>(books_->names.size());
  const auto [at, is_new] = books_->names.try_emplace(name, next);
  if (is_new) books_->nodes[next] = {.level = 0, .last_way = none};
  return at->second;
}

/// If it does not, raises all that follows above where the step begins.
bool code_graph::closes_cycle(index from, index to) {
  auto& nodes = books_->nodes;
  std::vector<raised_node> raised;
  std::vector<raised_node> to_raise{{.node = to, .level = nodes[from].level + 1}};
  while (!to_raise.empty()) {
    const auto [which, level] = to_raise.back();
    to_raise.pop_back();
    if (nodes[which].level >= level) continue;
    if (which == from || raised.size() == max_raised) {
      for (const auto& [each, before] : std::views::reverse(raised)) nodes[each].level = before;
      return true;
    }
    raised.push_back({.node = which, .level = nodes[which].level});
    nodes[which].level = level;
    for (index i = nodes[which].last_way; i != none; i = books_->ways[i].before) {
      to_raise.push_back({.node = books_->ways[i].to, .level = level + 1});
    }
  }
  return false;
}

}  // namespace lockyard::model
