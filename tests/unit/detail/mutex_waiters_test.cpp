// SPDX-License-Identifier: Apache-2.0
#include <lockyard/detail/condition_bucket.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;
using mutex_waiters = lockyard::detail::mutex_waiters<native>;
using guarded_bucket = lockyard::detail::guarded_bucket<native>;
using condition_bucket = lockyard::detail::condition_bucket<native>;
using wake_reason = mutex_waiters::wake_reason;
using kind = lockyard::detail::waiter_kind;

/// A lock whose first sleeper has been unparked, and has not arrived.
class MutexWaiters : public ::testing::Test {
 protected:
  void unpark_the_sleeper() {
    sleeper_.prepare_to_sleep();
    guarded_bucket home{waiters_};
    home.link(sleeper_);
    EXPECT_NE(home.unpark_first(), nullptr);
  }
  static bool is_late_after(const mutex_waiters& waiters, std::chrono::microseconds time) {
    return waiters.is_active_waiter_late(waiters.last_unpark() + time);
  }

  const char lock_ = 0;
  /// Neighbouring addresses are spread evenly, so one of these is in the same bucket.
  const char locks_[4096]{};
  const char* const other_ =
      std::find_if(std::begin(locks_), std::end(locks_), [this](const char& one) {
        return &mutex_waiters::lot::bucket_of(&one) == &mutex_waiters::lot::bucket_of(&lock_);
      });
  mutex_waiters waiters_{&lock_};
  mutex_waiters::node sleeper_{&lock_, kind::mutex, native::now()};
};

TEST_F(MutexWaiters, have_an_active_waiter_from_the_unpark_to_its_retirement) {
  EXPECT_FALSE(waiters_.has_active_waiter());
  unpark_the_sleeper();
  EXPECT_EQ(sleeper_.reason(), wake_reason::active);
  EXPECT_TRUE(waiters_.has_active_waiter());
  EXPECT_TRUE(waiters_.arrive_as_active_waiter());
  EXPECT_TRUE(waiters_.has_active_waiter());
  waiters_.retire_active_waiter();
  EXPECT_FALSE(waiters_.has_active_waiter());
}

TEST_F(MutexWaiters, let_a_newcomer_be_active_until_the_unparked_sleeper_arrives) {
  unpark_the_sleeper();
  EXPECT_TRUE(waiters_.become_active_waiter());
  EXPECT_FALSE(waiters_.become_active_waiter());
  EXPECT_FALSE(waiters_.arrive_as_active_waiter());
  waiters_.retire_active_waiter();
  EXPECT_FALSE(waiters_.has_active_waiter());
}

TEST_F(MutexWaiters, keep_an_active_waiter_when_a_newcomer_retires_before_the_arrival) {
  unpark_the_sleeper();
  EXPECT_TRUE(waiters_.become_active_waiter());
  waiters_.retire_active_waiter();
  EXPECT_TRUE(waiters_.has_active_waiter());
  EXPECT_TRUE(waiters_.arrive_as_active_waiter());
  waiters_.retire_active_waiter();
}

/// The waiters of a condition variable are in the bucket too, and may be many.
TEST_F(MutexWaiters, search_for_no_sleeper_that_the_summary_does_not_contain) {
  auto& bucket = mutex_waiters::lot::bucket_of(&lock_);
  sleeper_.prepare_to_sleep();
  guarded_bucket home{waiters_};
  bucket.link(sleeper_);
  EXPECT_EQ(home.first(), nullptr);
  bucket.remove(sleeper_);
  home.link(sleeper_);
  EXPECT_EQ(home.first(), &sleeper_);
  home.unlink(sleeper_);
}

/// Until the last of them has gone, in whatever way, and whatever other threads come and go.
TEST_F(MutexWaiters, require_fences_while_a_thread_waits_for_a_condition) {
  ASSERT_NE(other_, std::end(locks_));
  mutex_waiters others{other_};
  mutex_waiters::node beside{other_, kind::mutex, native::now()};
  mutex_waiters::node waits[3]{{this, kind::condition, native::now()},
                               {this, kind::condition, native::now()},
                               {this, kind::condition, native::now()}};
  for (auto* each : {&sleeper_, &beside, &waits[0], &waits[1], &waits[2]}) each->prepare_to_sleep();
  const auto is_elided = [this] { return waiters_.summary().may_elide_fence(); };
  const auto home = [this] { return condition_bucket{waiters_, this}; };
  const auto home_of_others = [&] { return guarded_bucket{others}; };
  home().elide_fence();
  EXPECT_TRUE(is_elided());
  for (auto& each : waits) home().link_waiter(each);
  EXPECT_FALSE(is_elided());
  home().elide_fence();
  EXPECT_FALSE(is_elided());
  home_of_others().link(beside);
  EXPECT_FALSE(is_elided()) << "one sleeps";
  home().link(sleeper_);
  EXPECT_FALSE(is_elided()) << "two, for different locks";
  home_of_others().unlink(beside);
  home().unlink(sleeper_);
  EXPECT_FALSE(is_elided()) << "none";
  home().unlink_waiter(waits[0]);
  EXPECT_FALSE(is_elided()) << "two wait";
  home().move_waiter(waits[1], native::now());
  EXPECT_FALSE(is_elided()) << "one waits";
  static_cast<void>(home().unpark_waiter(waits[2], wake_reason::retry));
  EXPECT_TRUE(is_elided());
  home().unlink(waits[1]);
}

TEST_F(MutexWaiters, of_one_lock_do_not_include_the_active_waiter_of_another_lock) {
  ASSERT_NE(other_, std::end(locks_));
  EXPECT_TRUE(waiters_.become_active_waiter());
  mutex_waiters others{other_};
  EXPECT_FALSE(others.has_active_waiter());
  EXPECT_FALSE(others.become_active_waiter());
  waiters_.retire_active_waiter();
  EXPECT_TRUE(others.become_active_waiter());
  others.retire_active_waiter();
}

/// Otherwise newcomers could barge past the sleepers of one lock for as long as another is busy.
TEST_F(MutexWaiters, lose_patience_though_the_sleepers_of_another_lock_are_unparked) {
  ASSERT_NE(other_, std::end(locks_));
  mutex_waiters others{other_};
  mutex_waiters::node waits{other_, kind::mutex, native::now()};
  for (auto* each : {&sleeper_, &waits}) each->prepare_to_sleep();
  guarded_bucket{waiters_}.link(sleeper_);
  const auto began = waiters_.last_unpark();
  guarded_bucket{others}.link(waits);
  EXPECT_NE(guarded_bucket{others}.unpark_first(), nullptr);
  EXPECT_EQ(waiters_.last_unpark(), began);
  others.retire_active_waiter();
  EXPECT_TRUE(others.arrive_as_active_waiter());
  others.retire_active_waiter();
  EXPECT_NE(guarded_bucket{waiters_}.unpark_first(), nullptr);
  EXPECT_GT(waiters_.last_unpark(), began);
  waiters_.arrive_as_active_waiter();
  waiters_.retire_active_waiter();
}

TEST_F(MutexWaiters, have_a_late_active_waiter_when_the_sleeper_does_not_arrive) {
  EXPECT_FALSE(is_late_after(waiters_, 1s));
  unpark_the_sleeper();
  EXPECT_FALSE(is_late_after(waiters_, 10us));
  EXPECT_TRUE(is_late_after(waiters_, 1s));
  waiters_.arrive_as_active_waiter();
  EXPECT_FALSE(is_late_after(waiters_, 1s));
  waiters_.retire_active_waiter();
}

}  // namespace
}  // namespace lockyard::testing
