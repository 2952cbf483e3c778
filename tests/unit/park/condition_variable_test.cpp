// SPDX-License-Identifier: Apache-2.0

// Both condition variables with one thread: where it would wait, a script plays the others.

#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

static_assert(sizeof(condition_variable) <= 16 && sizeof(condition_variable_any) == 1);
constinit condition_variable made_at_compile_time;
constinit condition_variable_any made_at_compile_time_too;

/// No thread spins, and barriers are counted.
struct sleepy_world : scripted_world {
  using unwatched = sleepy_world;
  static inline int barriers = 0;

  static void pause() noexcept {}
  static bool asymmetric_fence_heavy() noexcept {
    ++barriers;
    return true;
  }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return {}; }
  template <class... Arguments>
  static auto await(Arguments&&... arguments) noexcept {
    return spinning<sleepy_world>::await(std::forward<Arguments>(arguments)...);
  }
};

using mutex_here = basic_mutex<sleepy_world>;

/// The requirements on both: a condition variable with its lock.
template <class Pair>
class Condition : public ::testing::Test {
 protected:
  void SetUp() override {
    scripted_world::now_playing = {};
    sleepy_world::barriers = 0;
  }
  static script& played() { return scripted_world::now_playing; }
  bool is_free() {
    if (!lock_.try_lock()) return false;
    lock_.unlock();
    return true;
  }

  /// Requests the stop while a thread, which watches for none, waits under the same address.
  void stop_beside_another_waiter() {
    using lot = lockyard::detail::parking_lot<sleepy_world>;
    constexpr bool is_with_mutex =
        std::is_same_v<condition, basic_condition_variable<sleepy_world>>;
    const void* const at = is_with_mutex ? static_cast<const void*>(&lock_) : &condition_;
    auto& home = lot::bucket_of(at);
    using kind = lockyard::detail::waiter_kind;
    const kind waits_for = is_with_mutex ? kind::condition : kind::any_condition;
    typename lot::node other{&condition_, waits_for, sleepy_world::now()};
    other.prepare_to_sleep();
    const auto guarded = [&](auto change) {
      const std::lock_guard held{home.bucket_lock()};
      change();
    };
    guarded([&] { home.link(other); });
    stop_.request_stop();
    EXPECT_EQ(other.reason(), lot::wake_reason::none);
    EXPECT_EQ(other.kind(), waits_for);
    if (other.reason() == lot::wake_reason::none) guarded([&] { home.remove(other); });
  }

  using condition = typename Pair::first_type;
  condition condition_;
  typename Pair::second_type lock_;
  std::stop_source stop_;
};
using pairs =
    ::testing::Types<std::pair<basic_condition_variable<sleepy_world>, mutex_here>,
                     std::pair<basic_condition_variable_any<sleepy_world>, mutex_here>,
                     std::pair<basic_condition_variable_any<sleepy_world>, ttas_spinlock>>;
TYPED_TEST_SUITE(Condition, pairs);

TYPED_TEST(Condition, makes_no_system_call_while_nobody_waits) {
  this->condition_.notify_one();
  this->condition_.notify_all();
  EXPECT_EQ(this->played().wakes, 0);
}

TYPED_TEST(Condition, waits_without_the_lock_and_returns_with_it) {
  bool was_free = false;
  this->played().on_wait = [&] {
    was_free = this->is_free();
    this->condition_.notify_one();
  };
  this->lock_.lock();
  this->condition_.wait(this->lock_);
  EXPECT_TRUE(was_free);
  EXPECT_FALSE(this->is_free());
  EXPECT_EQ(this->played().wakes, 1);
  this->lock_.unlock();
  this->condition_.notify_all();
  EXPECT_EQ(this->played().wakes, 1) << "no waiter is left";
}

TYPED_TEST(Condition, waits_with_a_unique_lock_until_the_predicate_holds) {
  int looks = 0;
  this->played().on_wait = [&] { this->condition_.notify_all(); };
  std::unique_lock held{this->lock_};
  this->condition_.wait(held, [&] { return ++looks == 3; });
  EXPECT_TRUE(held.owns_lock());
  EXPECT_EQ(this->played().waits, 2);
}

/// A user's own lock on top of the standard's.
template <class Lock>
struct derived_lock : std::unique_lock<Lock> {
  using std::unique_lock<Lock>::unique_lock;
  int label = 7;
};
template <class Lock>
derived_lock(Lock&) -> derived_lock<Lock>;

TYPED_TEST(Condition, waits_with_a_class_that_derives_from_unique_lock) {
  this->played().on_wait = [&] { this->condition_.notify_all(); };
  derived_lock held{this->lock_};
  this->condition_.wait(held);
  EXPECT_EQ(this->condition_.wait_for(held, milliseconds{1}), std::cv_status::no_timeout);
  EXPECT_EQ(this->condition_.wait_until(held, steady::now()), std::cv_status::no_timeout);
  EXPECT_EQ(this->played().waits, 3);
  EXPECT_TRUE(held.owns_lock());
  EXPECT_FALSE(this->is_free());
}

TYPED_TEST(Condition, waits_for_a_predicate_or_a_stop_with_a_class_that_derives_from_unique_lock) {
  int looks = 0;
  const auto third_time = [&] { return ++looks % 3 == 0; };
  const auto token = this->stop_.get_token();
  const auto soon = milliseconds{1};
  this->played().on_wait = [&] { this->condition_.notify_all(); };
  derived_lock held{this->lock_};
  this->condition_.wait(held, third_time);
  EXPECT_TRUE(this->condition_.wait(held, token, third_time));
  EXPECT_TRUE(this->condition_.wait_for(held, soon, third_time));
  EXPECT_TRUE(this->condition_.wait_for(held, token, soon, third_time));
  EXPECT_TRUE(this->condition_.wait_until(held, steady::now() + soon, third_time));
  EXPECT_TRUE(this->condition_.wait_until(held, token, steady::now() + soon, third_time));
  EXPECT_EQ(this->played().waits, 12);
  EXPECT_TRUE(held.owns_lock());
}

/// As std::condition_variable_any: a class may do more than the one that it derives from.
TEST(ConditionAny, calls_the_members_of_a_class_that_derives_from_unique_lock) {
  struct counting_lock : std::unique_lock<mutex_here> {
    using std::unique_lock<mutex_here>::unique_lock;
    void lock() {
      std::unique_lock<mutex_here>::lock();
      ++locks;
    }
    void unlock() {
      std::unique_lock<mutex_here>::unlock();
      ++unlocks;
    }
    int locks = 0;
    int unlocks = 0;
  };
  scripted_world::now_playing = {};
  basic_condition_variable_any<sleepy_world> condition;
  scripted_world::now_playing.on_wait = [&] { condition.notify_one(); };
  mutex_here lock;
  counting_lock held{lock};
  condition.wait(held);
  EXPECT_EQ(held.locks, 1);
  EXPECT_EQ(held.unlocks, 1);
}

TYPED_TEST(Condition, gives_up_at_the_deadline_and_is_not_notified_afterwards) {
  this->played().deadlines_pass = true;
  const auto soon = steady::now() + milliseconds{1};
  this->played().on_wait = [soon] { std::this_thread::sleep_until(soon); };
  std::unique_lock held{this->lock_};
  EXPECT_EQ(this->condition_.wait_for(held, milliseconds{1}), std::cv_status::timeout);
  EXPECT_EQ(this->condition_.wait_until(held, soon), std::cv_status::timeout);
  EXPECT_FALSE(this->condition_.wait_for(held, milliseconds{1}, [] { return false; }));
  EXPECT_FALSE(this->condition_.wait_until(held, soon, [] { return false; }));
  EXPECT_TRUE(this->condition_.wait_until(held, soon, [] { return true; }));
  this->condition_.notify_all();
  EXPECT_EQ(this->played().wakes, 0);
}

TYPED_TEST(Condition, reports_no_time_out_if_its_clock_has_not_reached_the_limit) {
  this->played().deadlines_pass = true;
  std::unique_lock held{this->lock_};
  const auto late = std::chrono::system_clock::now() + std::chrono::hours{1};
  EXPECT_EQ(this->condition_.wait_until(held, late), std::cv_status::no_timeout);
}

TYPED_TEST(Condition, ends_its_waits_when_a_stop_is_requested) {
  const auto never = [] { return false; };
  this->played().on_wait = [&] { this->stop_.request_stop(); };
  std::unique_lock held{this->lock_};
  EXPECT_FALSE(this->condition_.wait(held, this->stop_.get_token(), never));
  EXPECT_EQ(this->played().waits, 1);
  EXPECT_FALSE(this->condition_.wait_for(held, this->stop_.get_token(), milliseconds{1}, never));
  EXPECT_FALSE(this->condition_.wait_until(held, this->stop_.get_token(), steady::now(), never));
  EXPECT_TRUE(this->condition_.wait(held, this->stop_.get_token(), [] { return true; }));
  EXPECT_EQ(this->played().waits, 1) << "a thread that is stopped does not wait";
}

TYPED_TEST(Condition, does_not_wait_if_the_stop_comes_after_its_last_look) {
  std::unique_lock held{this->lock_};
  int looks = 0;
  const auto stops = [&] { return ++looks == 1 && !this->stop_.request_stop(); };
  EXPECT_FALSE(this->condition_.wait(held, this->stop_.get_token(), stops));
  EXPECT_EQ(this->played().waits, 0);
}

/// Where one condition variable was that has ended, another one begins.
TYPED_TEST(Condition, ends_no_wait_of_another_one_in_its_place_when_a_stop_comes_late) {
  bool ends = false;
  this->played().on_wait = [&] {
    ends = true;
    this->condition_.notify_all();
    std::destroy_at(&this->condition_);
    std::construct_at(&this->condition_);
    this->stop_beside_another_waiter();
  };
  std::unique_lock held{this->lock_};
  EXPECT_TRUE(this->condition_.wait(held, this->stop_.get_token(), [&] { return ends; }));
}

TYPED_TEST(Condition, ends_no_wait_but_its_own_when_a_stop_is_requested) {
  this->played().on_wait = [&] { this->stop_beside_another_waiter(); };
  std::unique_lock held{this->lock_};
  EXPECT_FALSE(this->condition_.wait(held, this->stop_.get_token(), [] { return false; }));
  EXPECT_EQ(this->played().waits, 1);
}

TYPED_TEST(Condition, lets_an_exception_of_the_predicate_out_and_holds_the_lock) {
  std::unique_lock held{this->lock_};
  const auto fails = []() -> bool { throw std::runtime_error{"injected"}; };
  EXPECT_THROW(this->condition_.wait(held, fails), std::runtime_error);
  EXPECT_TRUE(held.owns_lock());
  EXPECT_FALSE(this->is_free());
}

using Moved = Condition<std::pair<basic_condition_variable<sleepy_world>, mutex_here>>;

TEST_F(Moved, sleeps_on_until_the_mutex_is_released) {
  int turns = 0;
  played().on_wait = [&] {
    if (++turns == 1) {
      ASSERT_TRUE(lock_.try_lock());
      condition_.notify_one();
      EXPECT_EQ(played().wakes, 0) << "a thread that would find the mutex held is not woken";
    } else {
      lock_.unlock();
    }
  };
  lock_.lock();
  condition_.wait(lock_);
  EXPECT_EQ(turns, 2);
  EXPECT_EQ(played().wakes, 1);
  EXPECT_EQ(sleepy_world::barriers, 0) << "the owner's unlock has a fence";
  EXPECT_FALSE(is_free());
}

TEST_F(Moved, reports_no_time_out_though_its_deadline_has_passed) {
  played().deadlines_pass = true;
  int turns = 0;
  played().on_wait = [&] {
    if (++turns == 1) {
      ASSERT_TRUE(lock_.try_lock());
      condition_.notify_one();
    } else {
      lock_.unlock();
    }
  };
  lock_.lock();
  EXPECT_EQ(condition_.wait_for(lock_, milliseconds{1}), std::cv_status::no_timeout);
  EXPECT_FALSE(is_free());
}

/// Where the bucket has no room to record it as the active waiter of its mutex.
TEST_F(Moved, keeps_its_place_if_it_was_unparked_without_success) {
  using mutex_waiters = lockyard::detail::mutex_waiters<sleepy_world>;
  const auto bucket_of = [](const void* lock) { return &mutex_waiters::lot::bucket_of(lock); };
  char locks[sleepy_world::table_size * 64];
  const char* const other = std::ranges::find_if(
      locks, [&](const char& one) { return bucket_of(&one) == bucket_of(&lock_); });
  ASSERT_NE(other, std::end(locks));
  mutex_waiters others{other};
  mutex_waiters waiters{&lock_};
  ASSERT_TRUE(others.become_active_waiter());
  int turns = 0;
  played().on_wait = [&] {
    if (++turns == 1) {
      ASSERT_TRUE(lock_.try_lock());
      condition_.notify_one();
      lock_.unlock();
      EXPECT_EQ(played().wakes, 1);
      ASSERT_TRUE(lock_.try_lock());
    } else {
      {
        lockyard::detail::guarded_bucket<sleepy_world> home{waiters};
        EXPECT_TRUE(home.first() != nullptr && home.first()->was_unparked());
      }
      lock_.unlock();
    }
  };
  lock_.lock();
  condition_.wait(lock_);
  EXPECT_EQ(turns, 2);
  others.retire_active_waiter();
}

TEST_F(Moved, requires_fences_for_as_long_as_it_waits) {
  const auto word = [this] {
    return lockyard::detail::mutex_waiters<sleepy_world>{&lock_}.summary();
  };
  const bool was_elided = (lock_.lock(), lock_.unlock(), word().may_elide_fence());
  bool is_elided = true;
  played().on_wait = [&] {
    is_elided = word().may_elide_fence();
    condition_.notify_one();
  };
  lock_.lock();
  condition_.wait(lock_);
  lock_.unlock();
  EXPECT_TRUE(was_elided);
  EXPECT_FALSE(is_elided) << "unlock may skip its fence while a waiter can be moved";
  EXPECT_TRUE(word().may_elide_fence());
}

}  // namespace
}  // namespace lockyard::testing
