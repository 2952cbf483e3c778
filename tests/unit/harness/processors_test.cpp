// SPDX-License-Identifier: Apache-2.0
#include <tracing/processors.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr std::uint32_t idle = 0;
constexpr std::uint32_t mine = 11;
constexpr std::uint32_t other = 99;

/// The two records of a switch: one thread leaves the processor, the next one gets it.
void add_switch(std::vector<processor_switch>& to, std::uint64_t at_ns, std::uint32_t from,
                std::uint32_t next, bool preempted = false) {
  to.push_back(
      {.time_ns = at_ns, .tid = from, .other = next, .is_out = true, .could_go_on = preempted});
  to.push_back(
      {.time_ns = at_ns + 1, .tid = next, .other = from, .is_out = false, .could_go_on = false});
}

std::uint64_t twice(std::uint64_t raw_ns) {
  return 2 * raw_ns;
}

TEST(Processors, a_processor_is_idle_between_the_last_thread_and_the_next_one) {
  std::vector<processor_switch> all;
  add_switch(all, 100, mine, other);
  add_switch(all, 200, other, idle);
  add_switch(all, 700, idle, mine);
  add_switch(all, 900, mine, idle);
  const auto found = idle_times_of(3, all);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cpu, 3);
  EXPECT_EQ(found[0].begin_ns, 200U);
  EXPECT_EQ(found[0].length_ns, 501U);
}

TEST(Processors, an_idle_time_whose_beginning_is_unknown_is_left_out) {
  std::vector<processor_switch> all;
  add_switch(all, 700, idle, mine);
  EXPECT_TRUE(idle_times_of(0, all).empty());
}

TEST(Processors, a_thread_gets_its_own_switches_with_their_processor) {
  std::map<std::uint32_t, thread_history> histories{{mine, {}}};
  std::vector<processor_switch> all;
  add_switch(all, 100, mine, other, true);
  add_switch(all, 200, other, mine);
  add_switch(all, 300, mine, idle);
  add_switches(histories, 5, all, 0, twice);
  ASSERT_EQ(histories.size(), 1U);
  const auto& events = histories[mine].events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, trace::event_kind::switch_out);
  EXPECT_EQ(events[0].ticks, 200U);
  EXPECT_EQ(events[0].argument, 1U);
  EXPECT_EQ(events[1].kind, trace::event_kind::switch_in);
  EXPECT_EQ(events[1].ticks, 402U);
  EXPECT_EQ(events[2].argument, 0U);
  for (const trace::event& each : events) EXPECT_EQ(each.cpu, 5U);
  EXPECT_EQ(histories[mine].lost, 0U);
}

TEST(Processors, overwritten_records_make_the_time_before_the_first_unknown) {
  std::map<std::uint32_t, thread_history> histories{{mine, {}}, {other, {}}};
  std::vector<processor_switch> all;
  add_switch(all, 100, mine, idle);
  add_switches(histories, 0, all, 7, twice);
  for (const auto& [tid, history] : histories) {
    EXPECT_EQ(history.lost, 7U);
    ASSERT_FALSE(history.events.empty());
    EXPECT_EQ(history.events[0].kind, trace::event_kind::records_lost);
    EXPECT_EQ(history.events[0].ticks, 200U);
    EXPECT_EQ(history.events[0].argument, 7U);
  }
  EXPECT_EQ(histories[mine].events.size(), 2U);
  EXPECT_EQ(histories[other].events.size(), 1U);
}

}  // namespace
}  // namespace lockyard::harness
