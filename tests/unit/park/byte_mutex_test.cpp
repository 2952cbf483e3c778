// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/byte_mutex.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

/// The clock stands still but where the test moves it, and no spin lasts.
struct still_world : scripted_world {
  using unwatched = still_world;
  static inline time_point moment{};

  static time_point now() noexcept { return moment; }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return {}; }
};

using scripted_mutex = basic_byte_mutex<still_world>;

class ByteMutex : public ::testing::Test {
 protected:
  void SetUp() override {
    scripted_world::now_playing = {};
    still_world::moment += std::chrono::hours{1};
    // From here on the bucket is not due.
    mutex_.lock();
    played().on_wait = [this] {
      if (played().waits > 0) mutex_.unlock();
    };
    mutex_.lock();
    mutex_.unlock();
    scripted_world::now_playing = {};
  }

  static script& played() { return scripted_world::now_playing; }

  scripted_mutex mutex_;
};

TEST_F(ByteMutex, makes_no_system_call_while_nobody_sleeps) {
  mutex_.lock();
  mutex_.unlock();
  EXPECT_EQ(played().waits, 0);
  EXPECT_EQ(played().wakes, 0);
}

TEST_F(ByteMutex, lets_a_newcomer_overtake_a_sleeper_until_it_is_time_to_hand_over) {
  mutex_.lock();
  int taken = 0;
  int sleeps = 0;
  played().on_wait = [&] {
    if (played().waits == sleeps) return;
    ++sleeps;
    if (played().waits == 2) still_world::moment += scripted_mutex::patience * 2;
    mutex_.unlock();
    if (mutex_.try_lock()) ++taken;
  };
  mutex_.lock();
  EXPECT_EQ(taken, 1) << "the newcomer gets in at the first unlock, and not at the second";
  EXPECT_EQ(played().waits, 2);
  EXPECT_EQ(played().wakes, 2);
  mutex_.unlock();
  EXPECT_TRUE(mutex_.try_lock());
}

TEST_F(ByteMutex, forgets_a_sleeper_that_gave_up) {
  mutex_.lock();
  played().deadlines_pass = true;
  EXPECT_FALSE(mutex_.try_lock_for(std::chrono::milliseconds{1}));
  mutex_.unlock();
  EXPECT_EQ(played().wakes, 0);
  EXPECT_TRUE(mutex_.try_lock());
}

}  // namespace
}  // namespace lockyard::testing
