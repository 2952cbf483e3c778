// SPDX-License-Identifier: Apache-2.0

// When a thread was woken and moved, by made-up records of the scheduler's tracepoints.

#include "tracing/scheduler_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockyard::harness {
namespace {

using enum scheduler_record::tracepoint;

constexpr std::uint32_t sleeper = 7;
constexpr std::uint32_t waker = 8;
constexpr std::uint32_t other_waker = 9;

/// The wake-ups, with their times and their wakers.
struct woken {
  std::uint64_t time_ns;
  std::uint32_t by;
  friend bool operator==(const woken&, const woken&) = default;
};

std::vector<woken> wake_ups(const std::vector<scheduler_record>& records,
                            std::uint32_t thread = sleeper) {
  std::vector<woken> found;
  for (const event_of_thread& each : events_of(records)) {
    if (each.thread != thread || each.what.kind != trace::event_kind::woken) continue;
    found.push_back({each.what.ticks, static_cast<std::uint32_t>(each.what.argument)});
  }
  std::ranges::sort(found, {}, &woken::time_ns);
  return found;
}

TEST(SchedulerEvents, tell_when_a_wake_up_arrived_and_who_sent_it) {
  EXPECT_EQ(wake_ups({{waking, 10, sleeper, 0, waker}, {wakeup, 12, sleeper, 1, 0}}),
            (std::vector<woken>{{12, waker}}));
}

TEST(SchedulerEvents, need_no_order) {
  EXPECT_EQ(wake_ups({{wakeup, 12, sleeper, 1, 0}, {waking, 10, sleeper, 0, waker}}),
            (std::vector<woken>{{12, waker}}));
}

TEST(SchedulerEvents, count_a_wake_up_from_when_it_was_sent_where_no_arrival_is_recorded) {
  EXPECT_EQ(wake_ups({{waking, 10, sleeper, 0, waker}}), (std::vector<woken>{{10, waker}}));
  EXPECT_EQ(wake_ups({{waking, 10, sleeper, 0, waker},
                      {waking, 30, sleeper, 0, other_waker},
                      {wakeup, 31, sleeper, 1, 0}}),
            (std::vector<woken>{{10, waker}, {31, other_waker}}));
}

TEST(SchedulerEvents, take_no_arrival_for_another_threads) {
  const std::vector<scheduler_record> records{{waking, 10, sleeper, 0, waker},
                                              {wakeup, 11, waker, 1, 0}};
  EXPECT_EQ(wake_ups(records), (std::vector<woken>{{10, waker}}));
  EXPECT_EQ(wake_ups(records, waker), (std::vector<woken>{{11, 0}}));
}

TEST(SchedulerEvents, tell_from_where_to_where_a_thread_was_moved) {
  const auto found = events_of({{migrate_task, 10, sleeper, 1, 0}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what.kind, trace::event_kind::migrated);
  EXPECT_EQ(found[0].what.cpu, 1U);
  EXPECT_EQ(found[0].what.argument, 0U);
}

}  // namespace
}  // namespace lockyard::harness
