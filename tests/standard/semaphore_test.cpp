// SPDX-License-Identifier: Apache-2.0

// [thread.sema.cnt]: the semaphore, with several largest counts. Counts beyond what the standard
// permits are undefined there and have no test here.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Semaphore>
class ThreadSemaCnt : public ::testing::Test {
 protected:
  std::function<bool()> acquired = [this] { return none_.acquire(), true; };
  std::function<bool()> try_acquire = [this] { return none_.try_acquire(); };
  std::function<void()> release = [this] { none_.release(); };

  Semaphore none_{0};
  Semaphore one_{1};
};
using semaphores = ::testing::Types<basic_semaphore<default_world, 1>,
                                    basic_semaphore<default_world, 4>, semaphore>;
TYPED_TEST_SUITE(ThreadSemaCnt, semaphores);

/// A thread that finds the count at zero blocks until another one increments it.
TYPED_TEST(ThreadSemaCnt, p1_acquire_at_zero_blocks_until_another_thread_releases) {
  EXPECT_TRUE(waits_for(this->release, this->acquired, [] {}));
  EXPECT_FALSE(this->none_.try_acquire());
}

/// A semaphore with a largest count of zero can be made. The standard has attempts on it fail. Here
/// whatever asks for more permits than max() ends the process.
TEST(ThreadSemaCntLimitsDeathTest, p2_differs_an_attempt_ends_the_process_if_max_is_zero) {
  basic_semaphore<default_world, 0> nothing{0};
  static_assert(nothing.max() == 0);
  nothing.release(0);
  EXPECT_DEATH(static_cast<void>(nothing.try_acquire()), "above its max");
}

/// Threads call all members at a time: what is released is acquired, no more and no less.
TYPED_TEST(ThreadSemaCnt, p3_concurrent_calls_lose_and_invent_nothing) {
  constexpr int rounds = 300;
  int turns = 0;
  const auto take_turns = [&] {
    for (int i = 0; i < rounds; ++i) {
      if (i % 3 != 0 || !this->one_.try_acquire()) this->one_.acquire();
      ++turns;
      this->one_.release();
    }
  };
  std::vector<std::jthread> team;
  for (int t = 0; t < 3; ++t) team.emplace_back(take_turns);
  team.clear();
  EXPECT_EQ(turns, 3 * rounds);
  EXPECT_TRUE(this->one_.try_acquire());
  EXPECT_FALSE(this->one_.try_acquire());
}

TYPED_TEST(ThreadSemaCnt, p4_max_is_at_least_the_least_maximum) {
  static_assert(TypeParam::max() >= 1);
  static_assert(std::same_as<decltype(TypeParam::max()), std::ptrdiff_t>);
  static_assert(noexcept(TypeParam::max()));
  static_assert(basic_semaphore<default_world, 4>::max() >= 4);
}

/// All numbers from zero to max() are counts to begin with.
TYPED_TEST(ThreadSemaCnt, p6_the_constructor_sets_the_count) {
  static constinit TypeParam full{TypeParam::max()};
  EXPECT_FALSE(this->none_.try_acquire());
  EXPECT_TRUE(this->one_.try_acquire());
  EXPECT_FALSE(this->one_.try_acquire());
  EXPECT_TRUE(full.try_acquire(TypeParam::max()));
  EXPECT_FALSE(full.try_acquire());
}

TYPED_TEST(ThreadSemaCnt, p7_the_constructor_is_explicit_and_throws_nothing) {
  static_assert(std::is_nothrow_constructible_v<TypeParam, std::ptrdiff_t>);
  static_assert(!std::is_convertible_v<std::ptrdiff_t, TypeParam>);
  static_assert(!std::is_copy_constructible_v<TypeParam>);
  static_assert(!std::is_copy_assignable_v<TypeParam>);
}

TYPED_TEST(ThreadSemaCnt, p9_release_adds_to_the_count) {
  this->none_.release();
  EXPECT_TRUE(this->none_.try_acquire());
  EXPECT_FALSE(this->none_.try_acquire());
  this->none_.release(0);
  EXPECT_FALSE(this->none_.try_acquire());
  this->none_.release(TypeParam::max());
  EXPECT_TRUE(this->none_.try_acquire(TypeParam::max()));
}

/// One release of several lets as many threads go on as it has added, and no more.
TEST(ThreadSemaCntLimits, p9_release_of_several_unblocks_as_many_threads) {
  semaphore permits{0};
  std::atomic<int> begun{0};
  std::atomic<int> passed{0};
  std::vector<std::jthread> team;
  for (int t = 0; t < 5; ++t) {
    team.emplace_back([&] {
      ++begun;
      permits.acquire();
      ++passed;
    });
  }
  while (begun != 5) std::this_thread::yield();
  give_others_time();
  EXPECT_EQ(passed, 0);
  permits.release(3);
  while (passed < 3) std::this_thread::yield();
  give_others_time();
  EXPECT_EQ(passed, 3);
  permits.release(2);
  team.clear();
  EXPECT_FALSE(permits.try_acquire());
}

/// Writes before a release are visible after the acquisition of its permit.
TYPED_TEST(ThreadSemaCnt, p10_release_happens_before_the_attempt_that_observes_it) {
  this->none_.release();
  EXPECT_TRUE(publishes(this->try_acquire, this->release, this->try_acquire, this->release));
}

TYPED_TEST(ThreadSemaCnt, p10_release_happens_before_the_acquisition_that_it_unblocks) {
  int handed = 0;
  TypeParam back{0};
  std::jthread taker{[&] {
    for (int i = 1; i <= 100; ++i) {
      this->none_.acquire();
      EXPECT_EQ(handed, i);
      back.release();
    }
  }};
  for (int i = 1; i <= 100; ++i) {
    handed = i;
    this->none_.release();
    back.acquire();
  }
}

/// The standard lets these throw where the system fails. Here nothing throws.
TYPED_TEST(ThreadSemaCnt, p11_differs_release_and_acquire_throw_nothing) {
  static_assert(noexcept(this->none_.release()) && noexcept(this->none_.acquire()));
  static_assert(noexcept(this->none_.try_acquire_for(never)));
  static_assert(noexcept(this->none_.try_acquire_until(steady::now())));
  static_assert(std::is_void_v<decltype(this->none_.release())>);
  static_assert(std::is_void_v<decltype(this->none_.acquire())>);
}

TYPED_TEST(ThreadSemaCnt, p13_try_acquire_does_not_block_and_has_no_effect_if_it_fails) {
  static_assert(noexcept(this->none_.try_acquire()));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(this->none_.try_acquire());
  this->none_.release();
  EXPECT_TRUE(this->none_.try_acquire());
}

/// The standard permits a failure although the count is positive. There is none here as long as
/// no thread waits.
TYPED_TEST(ThreadSemaCnt, p13_differs_try_acquire_never_fails_while_there_are_permits) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(this->one_.try_acquire());
    this->one_.release();
  }
}

TYPED_TEST(ThreadSemaCnt, p14_try_acquire_returns_whether_the_count_was_decremented) {
  static_assert(std::same_as<decltype(this->none_.try_acquire()), bool>);
  EXPECT_TRUE(this->one_.try_acquire());
  EXPECT_FALSE(this->one_.try_acquire());
}

TYPED_TEST(ThreadSemaCnt, p15_acquire_returns_at_once_while_the_count_is_positive) {
  this->one_.acquire();
  EXPECT_FALSE(this->one_.try_acquire());
}

TYPED_TEST(ThreadSemaCnt, p18_the_timed_attempts_acquire_while_they_wait) {
  const auto for_ever = [&] { return this->none_.try_acquire_for(never); };
  const auto until_never = [&] { return this->none_.try_acquire_until(steady::now() + never); };
  EXPECT_TRUE(waits_for(this->release, for_ever, [] {}));
  EXPECT_TRUE(waits_for(this->release, until_never, [] {}));
  EXPECT_FALSE(this->none_.try_acquire());
}

TYPED_TEST(ThreadSemaCnt, p18_the_timed_attempts_take_what_is_there_whatever_the_time) {
  EXPECT_TRUE(this->one_.try_acquire_for(-1h));
  this->one_.release();
  EXPECT_TRUE(this->one_.try_acquire_until(steady::time_point::min()));
  this->one_.release();
  EXPECT_TRUE(this->one_.try_acquire_for(never));
  EXPECT_FALSE(this->one_.try_acquire());
}

/// An attempt that fails does so no earlier than it was told, and takes nothing.
TYPED_TEST(ThreadSemaCnt, p18_the_timed_attempts_do_not_time_out_early) {
  const auto start = steady::now();
  EXPECT_FALSE(this->none_.try_acquire_for(2ms));
  EXPECT_GE(steady::now() - start, 2ms);
  const auto limit = slow_clock::now() + 1ms;
  EXPECT_FALSE(this->none_.try_acquire_until(limit));
  EXPECT_GE(slow_clock::now(), limit);
  EXPECT_FALSE(this->none_.try_acquire_for(0s));
  EXPECT_FALSE(this->none_.try_acquire_until(steady::now() - 1s));
  this->none_.release();
  EXPECT_TRUE(this->none_.try_acquire());
}

}  // namespace
}  // namespace lockyard::testing
