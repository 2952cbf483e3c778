// SPDX-License-Identifier: Apache-2.0

// [thread.condvarany.intwait]: waits that a stop request ends. The standard has them for
// condition_variable_any; here condition_variable has them too.

#include <optional>
#include <stdexcept>
#include <stop_token>

#include "standard/waits.hpp"

namespace lockyard::testing {
namespace {

template <class Wait>
class ThreadCondvaranyIntwait : public wait_test<Wait> {
 protected:
  static bool no() { return false; }
  static bool yes() { return true; }

  /// Whether the wait of another thread for what never holds ends by a stop, which comes when it
  /// waits.
  void expect_ended_by_a_stop(const std::function<bool(typename wait_test<Wait>::guard&)>& wait) {
    std::jthread waiter{[&] {
      typename wait_test<Wait>::guard held{this->lock_};
      ++this->waiting_;
      EXPECT_FALSE(wait(held));
      EXPECT_TRUE(this->is_held_by(held));
    }};
    this->await_waiters(1);
    EXPECT_TRUE(stop_.request_stop());
  }

  std::stop_source stop_;
};
TYPED_TEST_SUITE(ThreadCondvaranyIntwait, all_waits, wait_name);

/// A stop request of another thread ends the wait, which returns that the predicate does not hold.
TYPED_TEST(ThreadCondvaranyIntwait, p1_a_stop_request_during_the_wait_ends_it) {
  this->expect_ended_by_a_stop(
      [&](auto& held) { return this->changed_.wait(held, this->stop_.get_token(), this->no); });
}

TYPED_TEST(ThreadCondvaranyIntwait, p1_a_stop_request_ends_all_waits_that_watch_for_it) {
  std::vector<std::jthread> team;
  for (int t = 0; t < 3; ++t) {
    team.emplace_back([&] {
      typename TestFixture::guard held{this->lock_};
      ++this->waiting_;
      EXPECT_FALSE(this->changed_.wait(held, this->stop_.get_token(), this->no));
    });
  }
  this->await_waiters(3);
  this->stop_.request_stop();
}

/// The standard lets a stop wake other waiters for no reason. Here it ends no wait but its own, and
/// the notification goes to the one that waits on.
TYPED_TEST(ThreadCondvaranyIntwait, p1_a_stop_request_takes_no_notification_from_others) {
  std::jthread other{[&] {
    typename TestFixture::guard held{this->lock_};
    ++this->waiting_;
    this->changed_.wait(held, [&] { return this->is_over_; });
  }};
  this->await_waiters(1);
  std::jthread stopped{[&] {
    typename TestFixture::guard held{this->lock_};
    ++this->waiting_;
    EXPECT_FALSE(this->changed_.wait(held, this->stop_.get_token(), this->no));
  }};
  this->await_waiters(2);
  this->stop_.request_stop();
  stopped.join();
  this->change([&] { this->is_over_ = true; });
  this->changed_.notify_one();
}

/// After a stop request the predicate is asked once, and there is no wait.
TYPED_TEST(ThreadCondvaranyIntwait, p2_a_stop_request_before_the_wait_returns_the_predicate) {
  this->stop_.request_stop();
  typename TestFixture::guard held{this->lock_};
  int calls = 0;
  EXPECT_FALSE(this->changed_.wait(held, this->stop_.get_token(), [&] { return ++calls == 2; }));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(this->changed_.wait(held, this->stop_.get_token(), this->yes));
}

TYPED_TEST(ThreadCondvaranyIntwait, p2_the_wait_returns_true_when_the_predicate_holds) {
  std::jthread waiter{[&] {
    typename TestFixture::guard held{this->lock_};
    ++this->waiting_;
    EXPECT_TRUE(this->changed_.wait(held, this->stop_.get_token(), [&] { return this->is_over_; }));
    EXPECT_TRUE(this->is_held_by(held));
  }};
  this->await_waiters(1);
  this->change([&] { this->is_over_ = true; });
  this->changed_.notify_one();
}

/// A token without a stop source is one that never stops.
TYPED_TEST(ThreadCondvaranyIntwait, p2_a_token_without_a_source_ends_no_wait) {
  std::jthread waiter{[&] {
    typename TestFixture::guard held{this->lock_};
    ++this->waiting_;
    EXPECT_TRUE(this->changed_.wait(held, std::stop_token{}, [&] { return this->is_over_; }));
  }};
  this->await_waiters(1);
  this->change([&] { this->is_over_ = true; });
  this->changed_.notify_all();
}

/// A stop that comes between the last look at the predicate and the wait is not lost.
TYPED_TEST(ThreadCondvaranyIntwait, p2_a_stop_request_after_the_predicate_is_not_lost) {
  typename TestFixture::guard held{this->lock_};
  EXPECT_FALSE(this->changed_.wait(held, this->stop_.get_token(), [&] {
    this->stop_.request_stop();
    return false;
  }));
}

/// A stop that comes at any moment around the wait is not lost: this hangs otherwise.
TYPED_TEST(ThreadCondvaranyIntwait, p2_no_stop_request_is_lost_whenever_it_comes) {
  for (int round = 0; round < 30; ++round) {
    std::stop_source stop;
    flag begins;
    std::jthread waiter{[&] {
      typename TestFixture::guard held{this->lock_};
      begins.raise();
      EXPECT_FALSE(this->changed_.wait(held, stop.get_token(), this->no));
    }};
    begins.await();
    for (int spent = 0; spent < round; ++spent) std::this_thread::yield();
    stop.request_stop();
  }
}

/// Returns the value of the predicate after the stop: here it holds from the stop on.
TYPED_TEST(ThreadCondvaranyIntwait, p2_the_predicate_is_asked_again_after_the_stop_request) {
  typename TestFixture::guard held{this->lock_};
  EXPECT_TRUE(this->changed_.wait(held, this->stop_.get_token(),
                                  [&] { return !this->stop_.request_stop(); }));
}

/// The condition variable is registered for the duration of the call: it may be gone at the stop.
TYPED_TEST(ThreadCondvaranyIntwait, p2_a_stop_request_after_the_call_does_not_reach_it) {
  {
    std::optional<typename TestFixture::condition> mine;
    mine.emplace();
    typename TestFixture::guard held{this->lock_};
    EXPECT_FALSE(mine->wait_for(held, this->stop_.get_token(), 1ms, this->no));
    mine.reset();
  }
  EXPECT_TRUE(this->stop_.request_stop());
}

TYPED_TEST(ThreadCondvaranyIntwait, p6_an_exception_of_the_predicate_leaves_the_lock_locked) {
  typename TestFixture::guard held{this->lock_};
  const auto fails = []() -> bool { throw std::runtime_error{"injected"}; };
  const auto token = this->stop_.get_token();
  EXPECT_THROW(this->changed_.wait(held, token, fails), std::runtime_error);
  EXPECT_TRUE(this->is_held_by(held));
  EXPECT_TRUE(this->stop_.request_stop());
}

TYPED_TEST(ThreadCondvaranyIntwait, p7_a_stop_request_ends_wait_until) {
  this->expect_ended_by_a_stop([&](auto& held) {
    return this->changed_.wait_until(held, this->stop_.get_token(), steady::now() + never,
                                     this->no);
  });
}

/// At the limit the predicate decides, as without a stop.
TYPED_TEST(ThreadCondvaranyIntwait, p7_wait_until_returns_the_predicate_at_the_limit) {
  typename TestFixture::guard held{this->lock_};
  const auto token = this->stop_.get_token();
  const auto limit = steady::now() + 1ms;
  EXPECT_FALSE(this->changed_.wait_until(held, token, limit, this->no));
  EXPECT_GE(steady::now(), limit);
  int calls = 0;
  EXPECT_TRUE(this->changed_.wait_until(held, token, limit, [&] { return ++calls == 2; }));
  EXPECT_TRUE(this->is_held_by(held));
}

TYPED_TEST(ThreadCondvaranyIntwait, p7_wait_until_asks_the_predicate_again_after_the_stop) {
  typename TestFixture::guard held{this->lock_};
  EXPECT_TRUE(this->changed_.wait_until(held, this->stop_.get_token(), steady::now() + never,
                                        [&] { return !this->stop_.request_stop(); }));
}

TYPED_TEST(ThreadCondvaranyIntwait, p8_wait_until_does_not_block_after_a_stop_request) {
  this->stop_.request_stop();
  typename TestFixture::guard held{this->lock_};
  const auto token = this->stop_.get_token();
  EXPECT_FALSE(this->changed_.wait_until(held, token, steady::now() + never, this->no));
  EXPECT_TRUE(this->changed_.wait_until(held, token, steady::now() + never, this->yes));
}

TYPED_TEST(ThreadCondvaranyIntwait, p13_a_stop_request_ends_wait_for) {
  this->expect_ended_by_a_stop([&](auto& held) {
    return this->changed_.wait_for(held, this->stop_.get_token(), never, this->no);
  });
}

TYPED_TEST(ThreadCondvaranyIntwait, p13_wait_for_returns_the_predicate_at_the_time_out) {
  typename TestFixture::guard held{this->lock_};
  const auto start = steady::now();
  EXPECT_FALSE(this->changed_.wait_for(held, this->stop_.get_token(), 1ms, this->no));
  EXPECT_GE(steady::now() - start, 1ms);
  EXPECT_TRUE(this->changed_.wait_for(held, this->stop_.get_token(), -1s, this->yes));
}

}  // namespace
}  // namespace lockyard::testing
