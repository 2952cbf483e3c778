// SPDX-License-Identifier: Apache-2.0
#include <lockyard/detail/attendance.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;
using attendance = lockyard::detail::attendance<native>;
using fate = attendance::fate;
using kind = lockyard::detail::waiter_kind;

/// A lock whose first sleeper has been called, and has not arrived.
class Attendance : public ::testing::Test {
 protected:
  void call_the_sleeper() {
    sleeper_.falls_asleep();
    waiters_.guard().lock();
    waiters_.link(sleeper_);
    EXPECT_NE(waiters_.rouse(), nullptr);
    waiters_.guard().unlock();
  }
  static bool is_late_after(const attendance& waiters, std::chrono::microseconds time) {
    return waiters.is_late(waiters.relieved() + time);
  }

  const char lock_ = 0;
  /// Neighbouring addresses are spread evenly, so one of these is in the same bucket.
  const char locks_[4096]{};
  const char* const other_ =
      std::find_if(std::begin(locks_), std::end(locks_), [this](const char& one) {
        return &attendance::lot::bucket_of(&one) == &attendance::lot::bucket_of(&lock_);
      });
  attendance waiters_{&lock_};
  attendance::node sleeper_{&lock_, kind::mutex, native::now()};
};

TEST_F(Attendance, begins_with_the_call_and_ends_with_the_one_that_answered) {
  EXPECT_FALSE(waiters_.is_attended());
  call_the_sleeper();
  EXPECT_EQ(sleeper_.seen(), fate::designated);
  EXPECT_TRUE(waiters_.is_attended());
  EXPECT_TRUE(waiters_.answer());
  EXPECT_TRUE(waiters_.is_attended());
  waiters_.stop_attending();
  EXPECT_FALSE(waiters_.is_attended());
}

TEST_F(Attendance, is_one_newcomers_until_the_one_that_was_called_is_there) {
  call_the_sleeper();
  EXPECT_TRUE(waiters_.attend());
  EXPECT_FALSE(waiters_.attend());
  EXPECT_FALSE(waiters_.answer());
  waiters_.stop_attending();
  EXPECT_FALSE(waiters_.is_attended());
}

TEST_F(Attendance, goes_on_when_a_newcomer_leaves_before_the_answer) {
  call_the_sleeper();
  EXPECT_TRUE(waiters_.attend());
  waiters_.stop_attending();
  EXPECT_TRUE(waiters_.is_attended());
  EXPECT_TRUE(waiters_.answer());
  waiters_.stop_attending();
}

/// Those who wait for a condition variable are in the queue too, and may be many.
TEST_F(Attendance, searches_for_no_sleeper_if_none_is_announced) {
  auto& home = attendance::lot::bucket_of(&lock_);
  sleeper_.falls_asleep();
  waiters_.guard().lock();
  home.link(sleeper_);
  EXPECT_EQ(waiters_.first(), nullptr);
  home.remove(sleeper_);
  waiters_.link(sleeper_);
  EXPECT_EQ(waiters_.first(), &sleeper_);
  waiters_.unlink(sleeper_);
  waiters_.guard().unlock();
}

/// Until the last of them has gone, in whatever way, and whoever else comes and goes.
TEST_F(Attendance, asks_for_fences_while_somebody_waits_for_a_condition) {
  ASSERT_NE(other_, std::end(locks_));
  attendance others{other_};
  attendance::node beside{other_, kind::mutex, native::now()};
  attendance::node waits[3]{{this, kind::condition, native::now()},
                            {this, kind::condition, native::now()},
                            {this, kind::condition, native::now()}};
  for (auto* each : {&sleeper_, &beside, &waits[0], &waits[1], &waits[2]}) each->falls_asleep();
  const auto is_open = [this] { return waiters_.announced().is_open(); };
  waiters_.guard().lock();
  waiters_.open();
  EXPECT_TRUE(is_open());
  for (auto& each : waits) waiters_.expect(each);
  EXPECT_FALSE(is_open());
  waiters_.open();
  EXPECT_FALSE(is_open());
  others.link(beside);
  EXPECT_FALSE(is_open()) << "one sleeps";
  waiters_.link(sleeper_);
  EXPECT_FALSE(is_open()) << "two, for different locks";
  others.unlink(beside);
  waiters_.unlink(sleeper_);
  EXPECT_FALSE(is_open()) << "none";
  waiters_.unlink_expected(waits[0]);
  EXPECT_FALSE(is_open()) << "two wait";
  waiters_.move_expected(waits[1], native::now());
  EXPECT_FALSE(is_open()) << "one waits";
  static_cast<void>(waiters_.release_expected(waits[2], fate::awake));
  EXPECT_TRUE(is_open());
  waiters_.unlink(waits[1]);
  waiters_.guard().unlock();
}

TEST_F(Attendance, of_one_lock_is_not_that_of_another_in_its_bucket) {
  ASSERT_NE(other_, std::end(locks_));
  EXPECT_TRUE(waiters_.attend());
  attendance others{other_};
  EXPECT_FALSE(others.is_attended());
  EXPECT_FALSE(others.attend());
  waiters_.stop_attending();
  EXPECT_TRUE(others.attend());
  others.stop_attending();
}

/// Or newcomers could overtake the sleepers of one lock for as long as another one is busy.
TEST_F(Attendance, is_not_prolonged_by_the_sleepers_of_another_lock) {
  ASSERT_NE(other_, std::end(locks_));
  attendance others{other_};
  attendance::node waits{other_, kind::mutex, native::now()};
  for (auto* each : {&sleeper_, &waits}) each->falls_asleep();
  waiters_.guard().lock();
  waiters_.link(sleeper_);
  const auto began = waiters_.relieved();
  others.link(waits);
  EXPECT_NE(others.rouse(), nullptr);
  EXPECT_EQ(waiters_.relieved(), began);
  others.stop_attending();
  EXPECT_TRUE(others.answer());
  others.stop_attending();
  EXPECT_NE(waiters_.rouse(), nullptr);
  EXPECT_GT(waiters_.relieved(), began);
  waiters_.guard().unlock();
  waiters_.answer();
  waiters_.stop_attending();
}

TEST_F(Attendance, is_late_when_nobody_has_answered_for_a_while) {
  EXPECT_FALSE(is_late_after(waiters_, 1s));
  call_the_sleeper();
  EXPECT_FALSE(is_late_after(waiters_, 10us));
  EXPECT_TRUE(is_late_after(waiters_, 1s));
  waiters_.answer();
  EXPECT_FALSE(is_late_after(waiters_, 1s));
  waiters_.stop_attending();
}

}  // namespace
}  // namespace lockyard::testing
