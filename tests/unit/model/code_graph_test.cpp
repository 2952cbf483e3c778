// SPDX-License-Identifier: Apache-2.0

// Which steps between states of the code count as steps back.

#include <model/code_graph.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace lockyard::model {
namespace {

constexpr std::size_t nodes = 200;

std::vector<code_graph::step> random_steps(std::mt19937_64& random, std::size_t count) {
  std::uniform_int_distribution<std::uint64_t> name{1, nodes};
  std::vector<code_graph::step> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(name(random), name(random));
  return all;
}

/// Removes nodes that no step leads to, until none is left or each of the rest lies behind a cycle.
bool has_cycle(std::vector<code_graph::step> steps) {
  for (std::size_t before = steps.size() + 1; steps.size() < before;) {
    before = steps.size();
    std::vector<bool> is_reached(nodes + 1);
    for (const auto& [from, to] : steps) is_reached[to] = true;
    std::erase_if(steps, [&](const code_graph::step& each) { return !is_reached[each.first]; });
  }
  return !steps.empty();
}

TEST(CodeGraph, has_a_step_back_in_each_cycle) {
  std::mt19937_64 random;
  for (unsigned round = 0; round < 20; ++round) {
    code_graph graph;
    std::vector<code_graph::step> forward;
    const auto steps = random_steps(random, 100 + std::size_t{round} * 100);
    for (const code_graph::step& each : steps) {
      if (!graph.is_step_back(each)) forward.push_back(each);
    }
    EXPECT_TRUE(round < 10 || has_cycle(steps));
    ASSERT_FALSE(has_cycle(forward)) << "round " << round;
  }
}

TEST(CodeGraph, has_no_step_back_where_paths_only_join) {
  std::mt19937_64 random;
  code_graph graph;
  for (auto [from, to] : random_steps(random, 400)) {
    if (from == to) continue;
    EXPECT_FALSE(graph.is_step_back(std::minmax(from, to)));
  }
}

TEST(CodeGraph, has_a_step_back_where_code_comes_back_at_once) {
  code_graph graph;
  EXPECT_TRUE(graph.is_step_back({7, 7}));
}

TEST(CodeGraph, keeps_what_a_step_is) {
  std::mt19937_64 random;
  code_graph graph;
  known_steps known{graph};
  const auto steps = random_steps(random, 2000);
  std::vector<bool> first;
  for (const code_graph::step& each : steps) first.push_back(known.is_step_back(each));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(graph.is_step_back(steps[i]), known.is_step_back(steps[i]));
  }
  for (std::size_t i = steps.size(); i-- > 0;) {
    EXPECT_EQ(graph.is_step_back(steps[i]), first[i]) << "step " << i;
  }
}

TEST(CodeGraph, is_the_same_for_each_process) {
  code_graph graph;
  const pid_t other = fork();
  if (other == 0) _exit(graph.is_step_back({1, 2}) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(graph.is_step_back({2, 1}));
  EXPECT_FALSE(graph.is_step_back({1, 2}));
}

TEST(CodeGraph, counts_each_step_for_which_it_has_no_room) {
  code_graph graph;
  std::uint64_t name = 1;
  while (!graph.is_step_back({name, name + 1})) ++name;
  EXPECT_GT(name, 100'000U);
  EXPECT_FALSE(graph.is_step_back({1, 2}));
  EXPECT_TRUE(graph.is_step_back({1, 3}));
}

}  // namespace
}  // namespace lockyard::model
