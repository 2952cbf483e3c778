// SPDX-License-Identifier: Apache-2.0

// Waits until a point in time on a clock that is set forward or back meanwhile.

#include <lockyard/catalog.hpp>
#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catalog_types.hpp"

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;

/// A clock that stands still until a test sets it.
struct adjustable_clock {
  using duration = std::chrono::seconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<adjustable_clock>;
  static constexpr bool is_steady = false;

  static inline std::atomic<rep> seconds{0};
  static inline std::atomic<int> readings{0};

  static time_point now() noexcept {
    ++readings;
    return time_point{duration{seconds.load()}};
  }
};
constexpr adjustable_clock::time_point in_an_hour{1h};

/// Starts the wait in another thread, and sets the clock when the wait knows what the clock said:
/// a wait that believes it for good takes an hour.
template <class Wait>
void set_forward_during(Wait wait) {
  adjustable_clock::seconds = 0;
  adjustable_clock::readings = 0;
  std::thread waiter{wait};
  while (adjustable_clock::readings == 0) std::this_thread::yield();
  adjustable_clock::seconds = std::chrono::seconds{1h}.count();
  waiter.join();
}

template <class Lock>
struct timed_and_ours : std::bool_constant<is_ours<Lock> && traits_of<Lock>().timed> {};
using our_timed_locks = detail::types<timed_and_ours>;

template <class Lock>
class TimedByAdjustableClock : public ::testing::Test {};
TYPED_TEST_SUITE(TimedByAdjustableClock, our_timed_locks, catalog_name);

TYPED_TEST(TimedByAdjustableClock, gives_up_when_the_clock_is_set_past_the_limit) {
  TypeParam lock;
  ASSERT_TRUE(lock.try_lock());
  set_forward_during([&] { EXPECT_FALSE(bool(lock.try_lock_until(in_an_hour))); });
  if constexpr (requires { lock.try_lock_shared_until(in_an_hour); }) {
    set_forward_during([&] { EXPECT_FALSE(lock.try_lock_shared_until(in_an_hour)); });
  }
  lock.unlock();
}

/// The owner unlocks when the first limit has passed long ago by the steady clock.
TYPED_TEST(TimedByAdjustableClock, waits_on_while_the_clock_stands_still) {
  adjustable_clock::seconds = 0;
  TypeParam lock;
  ASSERT_TRUE(lock.try_lock());
  bool acquired = false;
  std::thread waiter{[&] {
    acquired = bool(lock.try_lock_until(adjustable_clock::time_point{1s} - 999ms));
    if (acquired) lock.unlock();
  }};
  std::this_thread::sleep_for(native::deadline::longest_without_a_look + 10ms);
  lock.unlock();
  waiter.join();
  EXPECT_TRUE(acquired);
}

template <class Condition>
class ConditionByAdjustableClock : public ::testing::Test {};
using conditions = ::testing::Types<condition_variable, condition_variable_any>;
TYPED_TEST_SUITE(ConditionByAdjustableClock, conditions);

TYPED_TEST(ConditionByAdjustableClock, ends_its_waits_when_the_clock_is_set_past_the_limit) {
  const auto never = [] { return false; };
  TypeParam changed;
  mutex mine;
  set_forward_during([&] {
    std::unique_lock held{mine};
    while (changed.wait_until(held, in_an_hour) == std::cv_status::no_timeout) {
    }
  });
  set_forward_during([&] {
    std::unique_lock held{mine};
    EXPECT_FALSE(changed.wait_until(held, in_an_hour, never));
  });
  set_forward_during([&] {
    std::unique_lock held{mine};
    EXPECT_FALSE(changed.wait_until(held, std::stop_token{}, in_an_hour, never));
  });
}

TEST(EventsByAdjustableClock, end_their_waits_when_the_clock_is_set_past_the_limit) {
  manual_reset_event manual;
  set_forward_during([&] { EXPECT_FALSE(manual.wait_until(in_an_hour)); });
  auto_reset_event automatic;
  set_forward_during([&] { EXPECT_FALSE(automatic.wait_until(in_an_hour)); });
  event_count count;
  set_forward_during([&] { EXPECT_FALSE(count.await_until(in_an_hour, [] { return false; })); });
  set_forward_during([&] {
    while (count.commit_wait_until(count.prepare_wait(), in_an_hour)) {
    }
  });
  semaphore permits{0};
  set_forward_during([&] { EXPECT_FALSE(permits.try_acquire_until(in_an_hour)); });
}

/// A clock that says at each reading what the test has written down.
struct scripted_limit : adjustable_limit {
  explicit scripted_limit(std::initializer_list<std::chrono::nanoseconds> told)
      : adjustable_limit{[](const adjustable_limit& self) noexcept {
          const auto& script = static_cast<const scripted_limit&>(self);
          return script.readings == script.answers.size() ? 0ns : script.answers[script.readings++];
        }},
        answers{told} {}
  std::vector<std::chrono::nanoseconds> answers;
  mutable std::size_t readings = 0;
};

TEST(AdjustableDeadline, ends_a_sleep_for_no_reason_until_the_clock_has_reached_it) {
  const std::atomic<std::uint32_t> word{1};
  const scripted_limit limit{1ns, 1h, 1ns, 1ns};
  const auto deadline = native::deadline_at(limit, 1ns);
  EXPECT_EQ(native::wait(word, 1, deadline), native::wait_result::woken) << "set back";
  EXPECT_EQ(native::wait(word, 1, deadline), native::wait_result::woken);
  EXPECT_EQ(native::wait(word, 1, deadline), native::wait_result::timed_out);
  EXPECT_EQ(native::wait(word, 2, deadline), native::wait_result::changed);
}

TEST(AdjustableDeadline, passes_when_the_clock_says_so) {
  const scripted_limit limit{1ns, 1h};
  const auto deadline = native::deadline_at(limit, 1ns);
  EXPECT_FALSE(native::passed(deadline));
  EXPECT_FALSE(native::passed(deadline));
  EXPECT_TRUE(native::passed(deadline));
}

/// The kernel is asked once for a steady clock.
struct sleep_counting : native {
  using unwatched = native;
  static inline std::vector<deadline> sleeps;
  static wait_result wait(const atomic<std::uint32_t>& /*word*/, std::uint32_t /*expected*/,
                          deadline limit = never) noexcept {
    sleeps.push_back(limit);
    return wait_result::timed_out;
  }
};

TEST(SteadyDeadline, is_one_sleep_to_the_end) {
  const std::atomic<std::uint32_t> word{1};
  const auto limit = std::chrono::steady_clock::now() + 1h;
  bool has_slept = false;
  EXPECT_TRUE(lockyard::detail::wait_up_to<sleep_counting>(limit, [&](auto deadline) {
    has_slept = sleep_counting::wait(word, 1, deadline) == native::wait_result::timed_out;
    return has_slept;
  }));
  ASSERT_EQ(sleep_counting::sleeps.size(), 1U);
  EXPECT_EQ(sleep_counting::sleeps.front().adjustable, nullptr);
  EXPECT_GE(sleep_counting::sleeps.front(), limit);
}

}  // namespace
}  // namespace lockyard::testing
