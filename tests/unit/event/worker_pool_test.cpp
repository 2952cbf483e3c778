// SPDX-License-Identifier: Apache-2.0

// What a pool promises, whatever its workers do while they are idle.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/pools.hpp"

namespace lockyard::testing {
namespace {

/// Longer than anything here takes: what ends by it has failed.
constexpr std::chrono::minutes for_ever{10};

class WorkerPool : public ::testing::TestWithParam<pool_maker> {
 protected:
  static std::unique_ptr<some_pool> make(worker_pool_options options) {
    return GetParam().make(std::move(options));
  }
  /// With one worker, which is in a task named "blocked" until the gate opens.
  static std::unique_ptr<some_pool> make_blocked(std::latch& gate, worker_pool_options options) {
    options.workers = 1;
    auto pool = make(std::move(options));
    std::latch begun{1};
    const auto refused = pool->submit({"blocked", [&begun, &gate] {
                                         begun.count_down();
                                         gate.wait();
                                       }});
    EXPECT_FALSE(refused);
    begun.wait();
    return pool;
  }
  /// Three tasks that wait behind "blocked", and count what is run of them.
  static void fill(some_pool& pool, std::atomic<int>& ran) {
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(pool.submit({"counts", [&ran] { ++ran; }}));
  }
};

INSTANTIATE_TEST_SUITE_P(Each, WorkerPool, ::testing::ValuesIn(pool_makers()), name_of_pool);

TEST_P(WorkerPool, runs_each_task_once_and_in_order_by_one_worker) {
  std::vector<int> order;  // the worker's; drain() makes it ours
  const auto pool = make({.workers = 1, .capacity = 3});
  for (int i = 0; i < 10; ++i) {
    ASSERT_FALSE(pool->submit({"notes", [&order, i] { order.push_back(i); }}));
  }
  pool->drain();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(WorkerPool, has_all_its_workers_at_work_at_the_same_time) {
  std::latch all_in{3};
  std::mutex mutex;
  std::set<unsigned> started;
  const auto pool = make({.workers = 3, .on_start = [&](unsigned worker) {
                            const std::lock_guard held{mutex};
                            started.insert(worker);
                          }});
  for (int i = 0; i < 3; ++i)
    ASSERT_FALSE(pool->submit({"meets", [&] { all_in.arrive_and_wait(); }}));
  pool->drain();
  EXPECT_EQ(started, (std::set{0U, 1U, 2U}));
}

TEST_P(WorkerPool, wakes_up_again_after_each_pause) {
  const auto pool = make({.workers = 2});
  for (int i = 0; i < 20; ++i) {
    std::promise<int> answer;
    ASSERT_FALSE(pool->submit({"answers", [&answer, i] { answer.set_value(i); }}));
    EXPECT_EQ(answer.get_future().get(), i);
    std::this_thread::yield();
  }
}

TEST_P(WorkerPool, gives_back_a_task_for_which_there_is_no_room) {
  std::latch gate{1};
  std::atomic<int> ran{0};
  const auto pool = make_blocked(gate, {.capacity = 3});
  fill(*pool, ran);
  EXPECT_EQ(pool->waiting(), 3U);
  const auto refused = pool->try_submit({"too many", [&ran] { ran += 100; }});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, push_result::full);
  EXPECT_STREQ(refused->work.name(), "too many");
  gate.count_down();
  pool->drain();
  EXPECT_EQ(ran, 3);
}

TEST_P(WorkerPool, keeps_who_submits_waiting_while_it_is_full) {
  std::latch gate{1};
  std::atomic<int> ran{0};
  const auto pool = make_blocked(gate, {.capacity = 3});
  fill(*pool, ran);
  std::thread other{[&] {
    EXPECT_FALSE(pool->submit({"comes late", [&ran] { ran += 100; }}));
    EXPECT_TRUE(gate.try_wait()) << "there was no room";
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{1});  // time to come and wait
  gate.count_down();
  other.join();
  pool->drain();
  EXPECT_EQ(ran, 103);
}

TEST_P(WorkerPool, gives_back_what_is_submitted_once_it_has_been_stopped) {
  std::atomic<int> ran{0};
  const auto pool = make({.workers = 1});
  pool->drain();
  auto refused = pool->submit({"late", [&ran] { ++ran; }});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, push_result::closed);
  EXPECT_EQ(ran, 0);
  refused->work();
  EXPECT_EQ(ran, 1) << "the caller does it itself";
  refused = pool->try_submit({"late", [] {}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, push_result::closed);
}

TEST_P(WorkerPool, lets_go_whoever_waits_for_room_when_it_is_stopped) {
  std::latch gate{1};
  std::atomic<int> ran{0};
  const auto pool = make_blocked(gate, {.capacity = 3});
  fill(*pool, ran);
  std::thread other{[&] {
    const auto refused = pool->submit({"waits for room", [] {}});
    if (refused) {
      EXPECT_EQ(refused->why, push_result::closed);
    }
    gate.count_down();  // no sooner: only the stop lets it go
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{1});  // time to come and wait
  static_cast<void>(pool->stop_within(std::chrono::nanoseconds{0}));
  other.join();
  pool->drain();
  EXPECT_EQ(ran, 3);
}

TEST_P(WorkerPool, reports_a_task_that_throws_and_goes_on) {
  std::vector<std::string> reports;
  std::atomic<int> ran{0};
  const auto pool =
      make({.workers = 1, .on_exception = [&](const char* name, std::exception_ptr thrown) {
              try {
                std::rethrow_exception(thrown);
              } catch (const std::runtime_error& error) {
                reports.push_back(std::string{name} + ": " + error.what());
              }
            }});
  EXPECT_FALSE(pool->submit({"fails", [] { throw std::runtime_error{"no such file"}; }}));
  EXPECT_FALSE(pool->submit({"counts", [&ran] { ++ran; }}));
  pool->drain();
  EXPECT_EQ(reports, std::vector<std::string>{"fails: no such file"});
  EXPECT_EQ(ran, 1);
}

TEST_P(WorkerPool, gives_back_what_waits_when_it_is_cancelled) {
  std::latch gate{1};
  std::atomic<int> ran{0};
  const auto pool = make_blocked(gate, {});
  fill(*pool, ran);
  auto left = pool->cancel();
  ASSERT_EQ(left.size(), 3U);
  EXPECT_TRUE(pool->cancel().empty());
  gate.count_down();
  pool->drain();
  EXPECT_EQ(ran, 0);
  for (task& each : left) each();
  EXPECT_EQ(ran, 3);
}

TEST_P(WorkerPool, runs_or_drops_at_its_end_what_waits) {
  for (const auto at : {at_end::run_tasks, at_end::drop_tasks}) {
    const bool drops = at == at_end::drop_tasks;
    std::latch gate{1};
    std::atomic<int> ran{0};
    std::promise<void> destroyed;  // the last task's, by the destructor if that drops it
    auto pool = make_blocked(gate, {.destructor = at});
    fill(*pool, ran);
    std::shared_ptr<void> held{nullptr, [&](void*) { destroyed.set_value(); }};
    EXPECT_FALSE(pool->submit({"holds", [kept = std::move(held)] {}}));
    std::thread ends{[&pool] { pool.reset(); }};
    if (drops) destroyed.get_future().wait();
    gate.count_down();
    ends.join();
    if (!drops) destroyed.get_future().wait();
    EXPECT_EQ(ran, drops ? 0 : 3);
  }
}

TEST_P(WorkerPool, names_the_task_that_does_not_end) {
  std::latch gate{1};
  std::atomic<int> ran{0};
  const auto pool = make_blocked(gate, {});
  fill(*pool, ran);
  const stop_report stuck = pool->stop_within(std::chrono::milliseconds{5});
  EXPECT_FALSE(stuck.has_stopped());
  EXPECT_EQ(stuck.workers, 1U);
  ASSERT_EQ(stuck.running.size(), 1U);
  EXPECT_STREQ(stuck.running[0], "blocked");
  EXPECT_EQ(stuck.waiting, 3U);
  gate.count_down();
  const stop_report ended = pool->stop_within(for_ever);
  EXPECT_TRUE(ended.has_stopped());
  EXPECT_TRUE(ended.running.empty());
  EXPECT_EQ(ended.waiting, 0U);
  EXPECT_EQ(ran, 3);
}

TEST_P(WorkerPool, is_not_made_without_workers_or_without_room) {
  EXPECT_THROW(static_cast<void>(make({.workers = 0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make({.workers = 1, .capacity = 0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make({.workers = 1, .capacity = std::size_t{1} << 31U})),
               std::invalid_argument);
}

TEST(WorkerPoolDeathTest, ends_the_program_where_nobody_wants_to_hear_of_exceptions) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        worker_pool<> pool{{.workers = 1}};
        static_cast<void>(pool.submit({"fails", [] { throw std::runtime_error{"lost?"}; }}));
        pool.drain();
      },
      "lost\\?");
}

TEST(WorkerPoolDeathTest, says_what_is_wrong_about_a_task_that_waits_for_itself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        worker_pool<> pool{{.workers = 1}};
        static_cast<void>(pool.submit({"waits", [&pool] { pool.drain(); }}));
        pool.drain();
      },
      "waits for the end of all tasks");
}

TEST(Task, moves_what_cannot_be_copied_and_is_empty_then) {
  int found = 0;
  task first{"moves", [&found, kept = std::make_unique<int>(7)] { found = *kept; }};
  task second{std::move(first)};
  EXPECT_FALSE(first);
  ASSERT_TRUE(second);
  second();
  EXPECT_EQ(found, 7);
}

}  // namespace
}  // namespace lockyard::testing
