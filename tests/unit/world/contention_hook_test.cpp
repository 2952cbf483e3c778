// SPDX-License-Identifier: Apache-2.0
#include <lockyard/contention.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/subjects.hpp"

namespace lockyard::testing {
namespace {

std::atomic<unsigned> waits{0};
std::atomic<unsigned> time_outs{0};
std::atomic<bool> is_plausible{true};
thread_local bool is_the_waiter = false;

void record(const contention& wait) {
  if (wait.lock == nullptr || wait.caller == nullptr || wait.waited.count() < 0)
    is_plausible = false;
  // The thread that has waited calls it.
  if (!is_the_waiter) is_plausible = false;
  ++(wait.acquired ? waits : time_outs);
}

/// Every lock of the catalogue that may sleep reports its waits.
class SleepingLock : public ::testing::TestWithParam<subject> {
 protected:
  void SetUp() override {
    waits = 0;
    time_outs = 0;
    is_plausible = true;
    before_ = set_contention_hook(record);
  }
  void TearDown() override { EXPECT_EQ(set_contention_hook(before_), record); }

  std::unique_ptr<some_lock> made_ = GetParam().make();
  some_lock& lock_ = *made_;
  contention_hook before_ = nullptr;
};

std::vector<subject> sleeping_subjects() {
  std::vector<subject> all = sound_subjects();
  std::erase_if(all, [](const subject& each) {
    return each.traits.waiting != waiting::park || each.traits.family == lock_family::spin ||
           each.traits.kind != lock_kind::ours;
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(ContentionHook, SleepingLock, ::testing::ValuesIn(sleeping_subjects()),
                         name_of);

TEST_P(SleepingLock, reports_a_wait_that_acquired) {
  // A waiter may be too late to wait: the next round finds another one.
  while (waits == 0) {
    lock_.lock();
    std::atomic<bool> comes{false};
    std::thread waiter{[&] {
      is_the_waiter = true;
      comes = true;
      lock_.lock();
      lock_.unlock();
    }};
    while (!comes) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    lock_.unlock();
    waiter.join();
  }
  EXPECT_TRUE(is_plausible);
  EXPECT_EQ(time_outs, 0U);
}

class TimedSleepingLock : public SleepingLock {};

std::vector<subject> timed_sleeping_subjects() {
  std::vector<subject> all = sleeping_subjects();
  std::erase_if(all, [](const subject& each) { return !each.traits.timed; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(ContentionHook, TimedSleepingLock,
                         ::testing::ValuesIn(timed_sleeping_subjects()), name_of);

TEST_P(TimedSleepingLock, reports_a_wait_that_timed_out) {
  lock_.lock();
  std::thread waiter{[&] {
    is_the_waiter = true;
    EXPECT_FALSE(lock_.try_lock_for(std::chrono::milliseconds{1}));
  }};
  waiter.join();
  lock_.unlock();
  EXPECT_TRUE(is_plausible);
  EXPECT_EQ(waits, 0U);
  EXPECT_EQ(time_outs, 1U);
}

TEST_P(SleepingLock, reports_nothing_without_a_wait) {
  is_the_waiter = true;
  lock_.lock();
  lock_.unlock();
  if (lock_.try_lock()) lock_.unlock();
  EXPECT_EQ(waits + time_outs, 0U);
}

}  // namespace
}  // namespace lockyard::testing
