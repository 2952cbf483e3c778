// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/ticket_mutex.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include "support/queues.hpp"
#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using scripted_mutex = basic_ticket_mutex<scripted_world>;

class TicketMutex : public ::testing::Test {
 protected:
  void SetUp() override { scripted_world::now_playing = {}; }

  static script& played() { return scripted_world::now_playing; }
};

TEST_F(TicketMutex, makes_no_system_call_while_nobody_sleeps) {
  scripted_mutex mutex;
  for (int i = 0; i < 3; ++i) {
    mutex.lock();
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }
  EXPECT_EQ(played().waits + played().wakes, 0);
}

TEST_F(TicketMutex, is_woken_when_its_number_is_called) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] { mutex.unlock(); };
  mutex.lock();
  EXPECT_EQ(played().waits, 1);
  EXPECT_EQ(played().wakes, 1);
  mutex.unlock();
  EXPECT_EQ(played().wakes, 1) << "no thread has begun to sleep since";
}

TEST_F(TicketMutex, sleeps_again_when_it_was_woken_for_no_reason) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] {
    if (played().waits == 3) mutex.unlock();
  };
  mutex.lock();
  EXPECT_EQ(played().waits, 3);
  mutex.unlock();
}

TEST_F(TicketMutex, lets_no_newcomer_overtake_a_sleeper) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] {
    mutex.unlock();
    EXPECT_FALSE(mutex.try_lock());
  };
  mutex.lock();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
}

TEST_F(TicketMutex, draws_no_ticket_that_it_might_not_wait_for) {
  scripted_mutex mutex;
  mutex.lock();
  played().deadlines_pass = true;
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds{1}));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock()) << "a number was called that no thread waits for";
}

TEST_F(TicketMutex, takes_the_first_moment_without_a_line_if_it_waits_with_a_time_out) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] { mutex.unlock(); };
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::milliseconds{1}));
  EXPECT_EQ(played().waits, 1);
  mutex.unlock();
}

TEST_F(TicketMutex, goes_on_when_its_tickets_wrap_around) {
  EXPECT_TRUE((survives_the_end_of_its_tickets<basic_ticket_mutex>()));
}

}  // namespace
}  // namespace lockyard::testing
