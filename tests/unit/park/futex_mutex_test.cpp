// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/futex_mutex.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using scripted_mutex = basic_futex_mutex<scripted_world>;

class FutexMutex : public ::testing::Test {
 protected:
  void SetUp() override { scripted_world::now_playing = {}; }

  static script& played() { return scripted_world::now_playing; }
};

TEST_F(FutexMutex, makes_no_system_call_while_nobody_sleeps) {
  scripted_mutex mutex;
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(played().waits, 0);
  EXPECT_EQ(played().wakes, 0);
}

TEST_F(FutexMutex, sleeps_while_held_and_is_woken_by_unlock) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] { mutex.unlock(); };
  mutex.lock();
  EXPECT_EQ(played().waits, 1);
  EXPECT_EQ(played().wakes, 1);
  mutex.unlock();
}

TEST_F(FutexMutex, comes_back_from_sleep_expecting_other_sleepers) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] { mutex.unlock(); };
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(played().wakes, 2) << "a second sleeper would have been forgotten";
}

TEST_F(FutexMutex, sleeps_again_when_it_was_woken_for_no_reason) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] {
    if (played().waits == 3) mutex.unlock();
  };
  mutex.lock();
  EXPECT_EQ(played().waits, 3);
  mutex.unlock();
}

TEST_F(FutexMutex, gives_up_at_its_deadline_and_leaves_the_others_to_be_woken) {
  scripted_mutex mutex;
  mutex.lock();
  played().deadlines_pass = true;
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds{1}));
  mutex.unlock();
  EXPECT_EQ(played().wakes, 1) << "another sleeper would have been forgotten";
  EXPECT_TRUE(mutex.try_lock());
}

TEST_F(FutexMutex, does_not_touch_the_state_when_try_lock_fails) {
  scripted_mutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_EQ(played().wakes, 0);
}

}  // namespace
}  // namespace lockyard::testing
