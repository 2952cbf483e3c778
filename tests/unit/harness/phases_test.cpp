// SPDX-License-Identifier: Apache-2.0
#include <phases.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr unsigned kinds = 3;
constexpr double endless_ns = 3600e9;

std::vector<unsigned> order_of(const phases& stage) {
  std::vector<unsigned> found;
  for (unsigned number = 0; number < stage.count(); ++number)
    found.push_back(stage.kind_of(number));
  return found;
}

TEST(Phases, kinds_take_turns_forwards_and_backwards) {
  EXPECT_EQ(order_of({1, kinds, 1, 0}), (std::vector<unsigned>{0, 1, 2, 2, 1, 0}));
}

TEST(Phases, the_seed_says_which_kind_is_the_first) {
  EXPECT_EQ(order_of({1, kinds, 1, 4}), (std::vector<unsigned>{1, 2, 0, 0, 2, 1}));
}

TEST(Phases, each_phase_has_its_part_of_the_time) {
  phases stage{1, kinds, 6e6, 0};
  const ticks before = clock::now();
  const auto first = stage.await(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_GE(first->end, before + clock::from_ns(1e6));
  EXPECT_EQ(stage.length(), clock::from_ns(1e6));
}

TEST(Phases, the_first_to_end_a_phase_ends_it_and_others_do_no_harm) {
  phases stage{1, kinds, endless_ns, 0};
  const auto first = stage.await(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(stage.lasts(*first));
  stage.end(*first);
  EXPECT_FALSE(stage.lasts(*first));
  const auto second = stage.await(1);
  ASSERT_TRUE(second.has_value());
  const double length_ns = stage.length_ns_of(first->kind);
  stage.end(*first);  // late
  EXPECT_TRUE(stage.lasts(*second));
  EXPECT_EQ(stage.length_ns_of(first->kind), length_ns);
}

/// No member may be in a phase while another one still is in the one before.
TEST(Phases, all_members_are_in_the_same_phase) {
  constexpr unsigned members = 4;
  phases stage{members, kinds, endless_ns, 0};
  std::array<std::atomic<unsigned>, phases::rounds * kinds> entered{};
  std::array<std::atomic<unsigned>, phases::rounds * kinds> left{};
  std::atomic<bool> mixed{false};
  std::vector<std::set<unsigned>> seen(members);
  const auto member = [&](unsigned self) {
    for (unsigned number = 0; const auto in = stage.await(number); ++number) {
      seen[self].insert(in->number);
      if (number > 0 && left[number - 1] != members) mixed = true;
      ++entered[number];
      if (self == 0) {
        while (entered[number] != members) std::this_thread::yield();
        stage.end(*in);
      }
      while (stage.lasts(*in)) std::this_thread::yield();
      ++left[number];
    }
  };
  {
    std::vector<std::jthread> team;
    for (unsigned i = 0; i < members; ++i) team.emplace_back(member, i);
  }
  EXPECT_FALSE(mixed);
  for (const auto& each : seen) EXPECT_EQ(each, (std::set<unsigned>{0, 1, 2, 3, 4, 5}));
  for (unsigned kind = 0; kind < kinds; ++kind) EXPECT_GT(stage.length_ns_of(kind), 0);
}

TEST(Phases, nobody_waits_for_who_follows) {
  phases stage{1, kinds, endless_ns, 0};
  ASSERT_TRUE(stage.await(0).has_value());
  ASSERT_TRUE(stage.await(1).has_value());
  const auto followed = stage.follow(0);
  ASSERT_TRUE(followed.has_value());
  EXPECT_EQ(followed->number, 1U);
  EXPECT_EQ(followed->kind, 1U);
  stage.call_off();
  EXPECT_FALSE(stage.follow(2).has_value());
}

TEST(Phases, who_waits_for_members_that_never_come_is_let_go) {
  phases stage{2, kinds, endless_ns, 0};
  bool came_back_with_nothing = false;
  {
    const std::jthread alone{[&] { came_back_with_nothing = !stage.await(0).has_value(); }};
    stage.call_off();
  }
  EXPECT_TRUE(came_back_with_nothing);
}

}  // namespace
}  // namespace lockyard::harness
