// SPDX-License-Identifier: Apache-2.0

// Traces: what locks of the traced world write down, and where it goes.

#include <lockyard/lockyard.hpp>
#include <lockyard/traced.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <ranges>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"
#include "support/tracing_fixture.hpp"

namespace lockyard::testing {
namespace {

using kinds = std::vector<event_kind>;

TEST_F(Tracing, stamps_an_acquisition_and_its_release_in_their_order) {
  start();
  traced<ticket_spinlock> lock;
  lock.lock();
  lock.unlock();
  reread();
  ASSERT_EQ(rings().size(), 1U);
  const trace::ring& mine = *rings().front();
  using enum event_kind;
  EXPECT_EQ(kinds_of(mine), (kinds{called, acquired, releasing, released}));
  EXPECT_EQ(mine.tid, native::thread_id());
  std::uint64_t last = head().start_ticks;
  for (const event& each : events_of(mine)) {
    EXPECT_EQ(each.lock, reinterpret_cast<std::uintptr_t>(&lock));
    EXPECT_GE(each.ticks, last);
    EXPECT_LE(each.ticks, head().ends_ticks);
    last = each.ticks;
  }
}

TEST_F(Tracing, stamps_a_failed_try_as_failed) {
  start();
  traced<mutex> lock;
  lock.lock();
  std::thread{[&] { EXPECT_FALSE(lock.try_lock()); }}.join();
  lock.unlock();
  reread();
  ASSERT_EQ(rings().size(), 2U);
  EXPECT_EQ(kinds_of(*rings()[1]), (kinds{event_kind::called, event_kind::failed}));
}

TEST_F(Tracing, an_acquisition_has_the_number_of_pauses_since_the_last_stamp) {
  start();
  int lock = 0;
  { const tracing::acquiring at_once{&lock}; }
  {
    const tracing::acquiring waits{&lock, lockyard::detail::sanitizer::attempt::trying};
    tracing::pause();
    tracing::pause();
  }
  {
    const tracing::acquiring yields{&lock};
    tracing::pause();
    tracing::yield();
  }
  reread();
  std::vector<std::uint64_t> arguments;
  for (const event& each : events_of(*rings().front())) {
    if (each.kind == event_kind::acquired) arguments.push_back(each.argument);
  }
  const auto trying = static_cast<std::uint64_t>(lockyard::detail::sanitizer::attempt::trying);
  EXPECT_EQ(arguments, (std::vector<std::uint64_t>{1 << 8U, (3 << 8U) | trying, 1 << 8U}));
}

/// Yields, sleeps and wakes have two ends, and lie between a call and its end.
TEST_F(Tracing, stamps_both_ends_of_what_a_waiter_does) {
  start();
  traced<ticket_spinlock> yields;
  traced<futex_mutex> sleeps;
  yields.lock();
  sleeps.lock();
  std::thread waiter{[&] {
    yields.lock();
    yields.unlock();
    sleeps.lock();
    sleeps.unlock();
  }};
  const auto* const live = trace::detail::current();
  const auto waiter_has_written = [&](event_kind what) {
    const trace::ring& of = *live->ring_at(2);
    const std::uint64_t written =
        std::atomic_ref{const_cast<std::uint64_t&>(of.written)}.load(std::memory_order_acquire);
    return std::any_of(of.events(), of.events() + std::min<std::uint64_t>(written, 4096),
                       [what](const event& each) { return each.kind == what; });
  };
  while (!waiter_has_written(event_kind::yield_end)) std::this_thread::yield();
  yields.unlock();
  while (!waiter_has_written(event_kind::sleep_begin)) std::this_thread::yield();
  sleeps.unlock();
  waiter.join();
  reread();
  ASSERT_EQ(rings().size(), 2U);
  using enum event_kind;
  const trace::ring& of_waiter = *rings()[1];
  // Only an end may be left of its beginning.
  auto all = kinds_of(of_waiter);
  if (!is_whole(of_waiter) && all.front() == yield_end) all.erase(all.begin());
  kinds operations;
  std::map<event_kind, int> begun;
  for (auto each = all.begin(); each != all.end(); ++each) {
    if (*each <= released) operations.push_back(*each);
    if (*each != yield_begin && *each != sleep_begin) continue;
    ++begun[*each];
    ASSERT_FALSE(operations.empty() && is_whole(of_waiter));
    ASSERT_TRUE(operations.empty() || operations.back() == called);
    ASSERT_NE(each + 1, all.end());
    ASSERT_EQ(each[1], *each == yield_begin ? yield_end : sleep_end);
    ++each;
  }
  EXPECT_GE(begun[yield_begin], 1);
  EXPECT_GE(begun[sleep_begin], 1);
  const kinds twice{called, acquired, releasing, released, called, acquired, releasing, released};
  EXPECT_TRUE(is_whole(of_waiter) ? operations == twice
                                  : std::ranges::equal(operations, twice | std::views::drop(1)));
}

TEST_F(Tracing, keeps_the_latest_events_of_a_ring_and_counts_all) {
  start({.rings = 2, .events = 16, .switches = false});
  traced<tas_spinlock> lock;
  for (int i = 0; i < 100; ++i) {
    const std::scoped_lock held{lock};
  }
  reread();
  const trace::ring& mine = *rings().front();
  EXPECT_EQ(mine.written, 400U);
  const auto left = events_of(mine);
  ASSERT_EQ(left.size(), 16U);
  EXPECT_EQ(left.back().kind, event_kind::released);
  EXPECT_TRUE(std::ranges::is_sorted(left, {}, &event::ticks));
}

TEST_F(Tracing, counts_threads_for_which_there_is_no_ring) {
  start({.rings = 2, .events = 64, .switches = false});
  traced<mutex> lock;
  lock.lock();
  lock.unlock();
  std::latch both{2};
  const auto takes_it_once = [&] {
    lock.lock();
    lock.unlock();
    both.arrive_and_wait();  // or the second would have the ring of the first
  };
  std::thread first{takes_it_once};
  std::thread second{takes_it_once};
  first.join();
  second.join();
  reread();
  EXPECT_EQ(rings().size(), 2U);
  EXPECT_EQ(head().threads_without_ring, 1U);
}

TEST_F(Tracing, gives_the_ring_of_a_thread_that_has_ended_to_the_next_one) {
  start({.rings = 2, .events = 64, .switches = false});
  traced<mutex> lock;
  lock.lock();
  lock.unlock();
  for (int i = 0; i < 8; ++i) {
    std::thread{[&] {
      lock.lock();
      lock.unlock();
    }}.join();
  }
  reread();
  ASSERT_EQ(rings().size(), 2U);
  // The kernel may take a while to let a thread go that has been joined.
  const trace::ring& used = *rings()[1];
  EXPECT_EQ((used.written + used.lost) / 4 + head().threads_without_ring, 8U);
}

TEST_F(Tracing, writes_nothing_in_a_forked_child) {
  start();
  traced<mutex> lock;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    lock.lock();
    lock.unlock();
    _exit(trace::is_running() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  reread();
  EXPECT_TRUE(rings().empty());
}

traced<tas_spinlock>* from_handler = nullptr;

/// Each of the handler's stamps is there, or counted as lost.
TEST_F(Tracing, is_whole_although_a_signal_handler_stamps_too) {
  start({.rings = 2, .events = 1 << 20, .switches = false});
  traced<tas_spinlock> lock;
  traced<tas_spinlock> of_handler;
  from_handler = &of_handler;
  static std::atomic<std::uint64_t> handled{0};
  handled = 0;
  std::signal(SIGUSR1, [](int) {
    if (from_handler->try_lock()) from_handler->unlock();
    ++handled;
  });
  const pthread_t target = pthread_self();
  { const std::scoped_lock held{lock}; }  // finds the ring: until then nothing is counted
  std::thread sender{[&] {
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t before = handled;
      pthread_kill(target, SIGUSR1);
      while (handled == before) std::this_thread::yield();
    }
  }};
  std::uint64_t made = 1;
  for (; handled < 200; ++made) {
    const std::scoped_lock held{lock};
  }
  sender.join();
  std::signal(SIGUSR1, SIG_DFL);
  reread();
  const trace::ring& mine = *rings().front();
  EXPECT_EQ(mine.written + mine.lost, 4 * (made + 200));
  std::map<std::uint64_t, std::uint64_t> of_lock;
  for (const event& each : events_of(mine)) ++of_lock[each.lock];
  EXPECT_LE(of_lock.size(), 2U);
}

TEST_F(Tracing, names_locks) {
  start();
  traced<mutex> queue;
  traced<mutex> table;
  trace::name(&queue, "queue");
  trace::name(&table, "table");
  reread();
  const auto names = events_of(*head().ring_at(0));
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[1].lock, reinterpret_cast<std::uintptr_t>(&table));
  EXPECT_EQ(names[1].argument, 1U);
  EXPECT_STREQ(head().all_names.data(), "queue");
  EXPECT_STREQ(head().all_names.data() + 6, "table");
}

TEST_F(Tracing, refuses_a_second_trace_and_sizes_that_cannot_be) {
  EXPECT_EQ(trace::start(file_.string(), {.rings = 0}), std::errc::invalid_argument);
  EXPECT_EQ(trace::start(file_.string(), {.rings = 1, .events = 0}), std::errc::invalid_argument);
  EXPECT_EQ(trace::start("/nowhere/at/all"), std::errc::no_such_file_or_directory);
  start();
  EXPECT_EQ(trace::start(file_.string() + "2"), std::errc::device_or_resource_busy);
}

TEST_F(Tracing, replaces_a_trace_and_no_other_file) {
  start();
  trace::stop();
  start();
  trace::stop();
  std::ofstream{file_} << "a user's thesis";
  EXPECT_EQ(trace::start(file_.string()), std::errc::file_exists);
}

TEST_F(Tracing, puts_the_number_of_the_process_where_the_name_has_a_place_for_it) {
  ASSERT_EQ(trace::start(file_.parent_path().string() + "/lockyard-tracing-test.%p.trace"),
            std::error_code{});
  EXPECT_TRUE(std::filesystem::exists(file_));
}

// Every lock of the catalogue, in the traced world.

template <class Lock>
class Traced : public ::testing::Test {};
TYPED_TEST_SUITE(Traced, owned_locks, catalog_name);

TYPED_TEST(Traced, is_the_same_lock_with_the_same_layout) {
  using lock = traced<TypeParam>;
  static_assert(std::is_same_v<in_world_t<lock, native>, in_world_t<TypeParam, native>>);
  EXPECT_EQ(sizeof(lock), sizeof(TypeParam));
  EXPECT_EQ(alignof(lock), alignof(TypeParam));
}

TYPED_TEST(Traced, excludes) {
  traced<TypeParam> lock;
  EXPECT_TRUE(counts_exactly(lock, 4, 500));
}

template <class Lock>
class TracedInFile : public Tracing {};
TYPED_TEST_SUITE(TracedInFile, owned_locks, catalog_name);

/// The stamps that a thread must have made of a lock before it can make this one; nothing is before
/// the first call.
event_kind before(event_kind next) {
  using enum event_kind;
  switch (next) {
    case acquired:
    case failed: return called;
    case releasing: return acquired;
    case released: return releasing;
    default: return released;
  }
}

/// Whatever the waiters did between.
TYPED_TEST(TracedInFile, stamps_every_operation_of_every_thread) {
  constexpr std::uint64_t rounds = 200;
  this->start({.rings = 8, .events = 1 << 16, .switches = false});
  traced<TypeParam> lock;
  EXPECT_TRUE(counts_exactly(lock, 4, rounds));
  this->reread();
  std::uint64_t acquired = 0;
  bool all_are_whole = true;
  for (const trace::ring* const each : this->rings()) {
    auto last = event_kind::released;
    bool any_may_come = !this->is_whole(*each);
    if (any_may_come) all_are_whole = false;
    for (const event& one : this->events_of(*each)) {
      if (one.kind > event_kind::released) continue;
      ASSERT_EQ(one.lock, reinterpret_cast<std::uintptr_t>(&lock));
      if (!any_may_come) {
        ASSERT_EQ(before(one.kind), last == event_kind::failed ? event_kind::released : last);
      }
      any_may_come = false;
      last = one.kind;
      if (last == event_kind::acquired) ++acquired;
    }
    EXPECT_EQ(last, event_kind::released);
    EXPECT_EQ(each->lost, 0U);
  }
  EXPECT_LE(acquired, 4 * rounds);
  if (all_are_whole) {
    EXPECT_EQ(acquired, 4 * rounds);
  }
}

}  // namespace
}  // namespace lockyard::testing
