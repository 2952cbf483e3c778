// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/pi_mutex.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;
using scripted_mutex = basic_pi_mutex<scripted_world>;

class PiMutex : public ::testing::Test {
 protected:
  void SetUp() override { scripted_world::now_playing = {}; }

  static script& played() { return scripted_world::now_playing; }
};

TEST_F(PiMutex, makes_no_system_call_while_nobody_waits) {
  scripted_mutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_EQ(played().waits + played().wakes, 0);
}

TEST_F(PiMutex, leaves_the_hand_over_to_the_kernel) {
  scripted_mutex mutex;
  mutex.lock();
  played().on_wait = [&] {
    played().thread = 1;
    mutex.unlock();
    played().thread = 2;
  };
  played().thread = 2;
  mutex.lock();
  EXPECT_EQ(played().wakes, 1);
  mutex.unlock();
  EXPECT_EQ(played().wakes, 1) << "no thread waits any more";
}

TEST_F(PiMutex, gives_up_at_its_deadline) {
  scripted_mutex mutex;
  mutex.lock();
  played().thread = 2;
  played().deadlines_pass = true;
  EXPECT_FALSE(mutex.try_lock_for(1ms));
  played().thread = 1;
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
}

TEST(PiMutexOfTheKernel, is_handed_over_and_leaves_errno_as_it_found_it) {
  pi_mutex mutex;
  mutex.lock();
  int acquired = 0;
  std::thread{[&] {
    errno = ENOENT;
    EXPECT_FALSE(mutex.try_lock_for(1ms));
    EXPECT_EQ(errno, ENOENT);
  }}.join();
  std::thread waiter{[&] {
    errno = ENOENT;
    mutex.lock();
    ++acquired;
    mutex.unlock();
    EXPECT_EQ(errno, ENOENT);
  }};
  mutex.unlock();
  waiter.join();
  EXPECT_EQ(acquired, 1);
}

TEST(PiMutexOfTheKernel, times_out_by_the_wall_clock_where_there_is_no_other) {
  pi_mutex mutex;
  mutex.lock();
  std::thread{[&] {
    const auto limit = std::chrono::steady_clock::now() + 2ms;
    const auto since_boot = std::chrono::nanoseconds{limit.time_since_epoch()}.count();
    const timespec deadline{.tv_sec = since_boot / 1'000'000'000,
                            .tv_nsec = since_boot % 1'000'000'000};
    long result = -EAGAIN;
    while (result == -EAGAIN) {
      result = lockyard::detail::os::lock_pi_by_wall_clock(&mutex, &deadline);
    }
    EXPECT_EQ(result, -ETIMEDOUT);
    EXPECT_GE(std::chrono::steady_clock::now(), limit);
  }}.join();
  mutex.unlock();
  std::thread{[&] {
    const timespec for_ever{.tv_sec = INT64_MAX / 1'000'000'000, .tv_nsec = 0};
    EXPECT_EQ(lockyard::detail::os::lock_pi_by_wall_clock(&mutex, &for_ever), 0);
    mutex.unlock();
  }}.join();
}

/// The thread that comes second closes a ring of waits, which the kernel refuses.
void wait_in_a_ring(std::chrono::milliseconds before_the_long_wait) {
  pi_mutex a, b;
  std::barrier both_hold_one{2};
  std::thread patient{[&] {
    const std::scoped_lock holds_a{a};
    both_hold_one.arrive_and_wait();
    std::this_thread::sleep_for(before_the_long_wait);
    EXPECT_TRUE(b.try_lock_for(std::chrono::hours::max()));
    b.unlock();
  }};
  b.lock();
  both_hold_one.arrive_and_wait();
  const auto limit = std::chrono::steady_clock::now() + 20ms;
  EXPECT_FALSE(a.try_lock_until(limit));
  EXPECT_GE(std::chrono::steady_clock::now(), limit);
  b.unlock();
  patient.join();
}

TEST(PiMutexOfTheKernel, times_out_where_it_waits_in_a_ring_that_a_time_out_will_end) {
  wait_in_a_ring(0ms);
  wait_in_a_ring(5ms);  // the wait without an end mostly comes second
}

TEST(PiMutexOfTheKernelDeathTest, ends_the_process_instead_of_waiting_for_itself) {
  // The child does not hold the locks of its parent: each statement starts anew.
  EXPECT_DEATH(
      {
        pi_mutex mutex;
        mutex.lock();
        mutex.lock();
      },
      "errno 35;");
  EXPECT_DEATH(
      {
        pi_mutex mutex;
        mutex.lock();
        static_cast<void>(mutex.try_lock_for(1h));
      },
      "errno 35;");
  EXPECT_DEATH(pi_mutex{}.unlock(), "errno 1;");
}

TEST(PiMutexOfTheKernelDeathTest, ends_the_process_where_the_owner_ended_without_unlocking) {
  EXPECT_DEATH(
      {
        pi_mutex mutex;
        std::thread{[&] { mutex.lock(); }}.join();
        mutex.lock();
      },
      "errno 3;");
}

TEST(ThreadId, is_the_one_of_the_system_and_asked_again_in_a_forked_child) {
  const std::uint32_t mine = native::thread_id();
  EXPECT_EQ(mine, static_cast<std::uint32_t>(gettid()));
  EXPECT_EQ(native::thread_id(), mine);
  std::thread{[&] { EXPECT_NE(native::thread_id(), mine); }}.join();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) _exit(native::thread_id() == static_cast<std::uint32_t>(gettid()) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the child takes itself for its parent";
}

}  // namespace
}  // namespace lockyard::testing
