// SPDX-License-Identifier: Apache-2.0
#include <lockyard/catalog.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ratio>
#include <thread>
#include <vector>

#include "support/subjects.hpp"

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;
using lockyard::detail::to_nanoseconds;
using std::chrono::duration;
using std::chrono::nanoseconds;

TEST(ToNanoseconds, rounds_up_because_a_time_out_may_be_late_but_not_early) {
  EXPECT_EQ(to_nanoseconds(duration<std::int64_t, std::pico>{1001}), 2ns);
  EXPECT_EQ(to_nanoseconds(duration<std::int64_t, std::pico>{1000}), 1ns);
  EXPECT_EQ(to_nanoseconds(duration<double, std::nano>{0.1}), 1ns);
  EXPECT_EQ(to_nanoseconds(duration<float>{1.5F}), 1500ms);
  EXPECT_EQ(to_nanoseconds(3h), 10'800'000'000'000ns);
}

TEST(ToNanoseconds, makes_nothing_of_a_duration_that_is_not_positive_or_no_number) {
  EXPECT_EQ(to_nanoseconds(0s), 0ns);
  EXPECT_EQ(to_nanoseconds(-1s), 0ns);
  EXPECT_EQ(to_nanoseconds(std::chrono::hours::min()), 0ns);
  EXPECT_EQ(to_nanoseconds(duration<double>{-std::numeric_limits<double>::infinity()}), 0ns);
  EXPECT_EQ(to_nanoseconds(duration<double>{std::numeric_limits<double>::quiet_NaN()}), 0ns);
}

TEST(ToNanoseconds, ends_at_what_nanoseconds_can_hold) {
  EXPECT_EQ(to_nanoseconds(nanoseconds::max()), nanoseconds::max());
  EXPECT_EQ(to_nanoseconds(std::chrono::hours::max()), nanoseconds::max());
  EXPECT_EQ(to_nanoseconds(duration<float>{std::numeric_limits<float>::infinity()}),
            nanoseconds::max());
  EXPECT_EQ(to_nanoseconds(duration<double>{std::numeric_limits<double>::max()}),
            nanoseconds::max());
}

/// The number of nanoseconds of so many periods; a constant expression, so the compiler refuses an
/// overflow.
template <class Period, std::int64_t Count>
constexpr std::int64_t nanoseconds_of =
    to_nanoseconds(duration<std::int64_t, Period>{Count}).count();

using timer_8254 = std::ratio<1, 1'193'182>;
using timer_acpi = std::ratio<1, 3'579'545>;
using audio = std::ratio<1, 44'100>;
using frame = std::ratio<1, 60>;
using ntp = std::ratio<1, std::int64_t{1} << 32U>;
using odd = std::ratio<INT64_MAX, INT64_MAX - 1>;
using finest = std::ratio<1, INT64_MAX>;

static_assert(nanoseconds_of<timer_8254, 1'193'182LL * 5 * 3600> == 18'000'000'000'000);
static_assert(nanoseconds_of<timer_8254, 1> == 839, "838.09 ns");
static_assert(nanoseconds_of<timer_acpi, 3'579'545LL * 4 * 3600 + 1> == 14'400'000'000'280);
static_assert(nanoseconds_of<audio, 44'100LL * 86'400 * 300> == 25'920'000'000'000'000);
static_assert(nanoseconds_of<frame, 60LL * 86'400 * 36'525 + 1> == 3'155'760'000'016'666'667);
static_assert(nanoseconds_of<ntp, (3600LL << 32U) + 1> == 3'600'000'000'001);
static_assert(nanoseconds_of<ntp, INT64_MAX> == 2'147'483'648'000'000'000);
static_assert(nanoseconds_of<finest, INT64_MAX> == 1'000'000'000);
static_assert(nanoseconds_of<finest, 1> == 1);
static_assert(nanoseconds_of<odd, 9'223'372'036> == 9'223'372'036'000'000'001);
static_assert(nanoseconds_of<odd, 9'223'372'037> == INT64_MAX);
static_assert(nanoseconds_of<timer_8254, INT64_MAX> == INT64_MAX);
static_assert(nanoseconds_of<std::atto, INT64_MAX> == 9'223'372'037);
static_assert(nanoseconds_of<std::exa, 1> == INT64_MAX);
static_assert(nanoseconds_of<frame, -1> == 0 && nanoseconds_of<ntp, INT64_MIN> == 0);
static_assert(to_nanoseconds(duration<std::uint64_t, frame>{UINT64_MAX}) == nanoseconds::max());
static_assert(to_nanoseconds(duration<std::uint64_t, ntp>{UINT64_MAX}) == 4'294'967'296s);
static_assert(to_nanoseconds(duration<double, timer_8254>{1'193'182.0 * 5 * 3600}) == 5h);
static_assert(to_nanoseconds(duration<double, frame>{1e300}) == nanoseconds::max());

/// Records for how long it is asked to wait; acquires when it is free, or after so many waits.
class recording_lock : public lockyard::detail::timed_lock<recording_lock, native> {
 public:
  std::vector<nanoseconds> waits;
  int looks = 0;
  bool is_free = false;
  std::size_t is_free_after = SIZE_MAX;

 private:
  friend lockyard::detail::timed_lock<recording_lock, native>;
  bool take() {
    ++looks;
    return is_free;
  }
  bool take_until(native::deadline limit) {
    const bool is_endless = limit.time_since_epoch() == nanoseconds::max();
    waits.push_back(is_endless ? nanoseconds::max() : limit - native::now());
    return waits.size() == is_free_after;
  }
};

TEST(TimedLock, looks_once_and_does_not_wait_without_a_positive_duration) {
  recording_lock lock;
  EXPECT_FALSE(lock.try_lock_for(0s));
  EXPECT_FALSE(lock.try_lock_for(-1h));
  EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::time_point{}));
  EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::time_point::min()));
  EXPECT_EQ(lock.looks, 4);
  EXPECT_TRUE(lock.waits.empty());
  lock.is_free = true;
  EXPECT_TRUE(lock.try_lock_for(-1h));
  EXPECT_TRUE(lock.try_lock_until(std::chrono::steady_clock::time_point{}));
}

TEST(TimedLock, waits_for_ever_where_the_duration_is_past_the_end_of_the_clock) {
  recording_lock lock;
  EXPECT_FALSE(lock.try_lock_for(std::chrono::hours::max()));
  EXPECT_EQ(lock.waits, std::vector{nanoseconds::max()});
}

TEST(TimedLock, waits_for_a_duration_of_any_period) {
  recording_lock lock;
  EXPECT_FALSE((lock.try_lock_for(duration<std::int64_t, timer_8254>{1'193'182LL * 5 * 3600})));
  ASSERT_EQ(lock.waits.size(), 1U);
  EXPECT_GT(lock.waits.front(), 4h);
}

TEST(TimedLock, waits_until_a_time_point_of_any_period) {
  using ticks = duration<std::int64_t, timer_8254>;
  const auto limit = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) + 5h;
  recording_lock lock;
  lock.is_free_after = 1;
  EXPECT_TRUE(lock.try_lock_until(std::chrono::time_point<std::chrono::system_clock, ticks>{
      ticks{limit.time_since_epoch().count() * timer_8254::den}}));
  ASSERT_EQ(lock.waits.size(), 1U);
  EXPECT_GT(lock.waits.front(), 4h);
}

/// Reaches each hour only when it has been asked for it twice, and counts in seconds.
struct slow_clock {
  using duration = std::chrono::seconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static inline int readings = 0;
  static time_point now() noexcept { return time_point{std::chrono::hours{readings++ / 2}}; }
};

TEST(TimedLock, asks_a_slow_clock_again_and_believes_it_only_when_it_has_come_there) {
  recording_lock lock;
  slow_clock::readings = 0;
  EXPECT_FALSE(lock.try_lock_until(slow_clock::time_point{2h}));
  EXPECT_EQ(slow_clock::readings, 5);
  ASSERT_EQ(lock.waits.size(), 4U);
  EXPECT_LE(lock.waits.front(), 2h);
  EXPECT_GT(lock.waits.front(), 1h);
  EXPECT_LE(lock.waits.back(), 1h);
}

TEST(TimedLock, waits_for_ever_where_the_limit_does_not_fit_into_the_unit_of_its_clock) {
  using in_hours = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
  recording_lock lock;
  // The end of time comes when another thread unlocks.
  lock.is_free_after = 1;
  EXPECT_TRUE(lock.try_lock_until(in_hours::max()));
  EXPECT_EQ(lock.waits, std::vector{nanoseconds::max()});
  EXPECT_FALSE(lock.try_lock_until(in_hours::min()));
}

/// Begins to count long before it comes to 0.
struct early_clock : std::chrono::steady_clock {
  using time_point = std::chrono::time_point<early_clock>;
  static time_point now() noexcept { return time_point{-1h}; }
};

TEST(TimedLock, waits_for_ever_where_the_limit_is_farther_than_its_clock_can_tell) {
  recording_lock lock;
  lock.is_free_after = 1;
  EXPECT_TRUE(lock.try_lock_until(early_clock::time_point::max()));
  EXPECT_EQ(lock.waits, std::vector{nanoseconds::max()});
  EXPECT_FALSE(lock.try_lock_until(early_clock::time_point::min()));
}

class TimedCatalogLock : public ::testing::TestWithParam<subject> {
 protected:
  std::unique_ptr<some_lock> made_ = GetParam().make();
  some_lock& lock_ = *made_;
};
INSTANTIATE_TEST_SUITE_P(Catalog, TimedCatalogLock,
                         ::testing::ValuesIn(sound_subjects([](const lock_traits& traits) {
                           return traits.timed;
                         })),
                         name_of);

TEST_P(TimedCatalogLock, gives_up_no_sooner_than_it_was_told) {
  lock_.lock();
  std::thread{[&] {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(lock_.try_lock_for(2ms));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
    const auto limit = std::chrono::system_clock::now() + 2ms;
    EXPECT_FALSE(lock_.try_lock_until(limit));
    EXPECT_GE(std::chrono::system_clock::now(), limit);
    EXPECT_FALSE(lock_.try_lock_for(-1s));
    EXPECT_FALSE(lock_.try_lock_until(some_lock::steady_time::min()));
  }}.join();
  lock_.unlock();
}

TEST_P(TimedCatalogLock, waits_for_the_owner_for_as_long_as_it_may) {
  int acquired = 0;
  lock_.lock();
  std::thread waiter{[&] {
    for (int i = 0; i < 2; ++i) {
      if (i == 0 ? lock_.try_lock_for(nanoseconds::max())
                 : lock_.try_lock_until(some_lock::system_time::max())) {
        ++acquired;
        lock_.unlock();
      }
    }
  }};
  lock_.unlock();
  waiter.join();
  EXPECT_EQ(acquired, 2);
}

/// Waiters that give up at any moment of others' unlocks: none stays asleep, no update is lost.
TEST_P(TimedCatalogLock, leaves_nothing_behind_where_time_outs_race_with_unlocks) {
  std::uint64_t counter = 0;
  std::uint64_t expected = 0;
  std::vector<std::uint64_t> acquired(4);
  std::vector<std::thread> team;
  for (unsigned t = 0; t < acquired.size(); ++t) {
    team.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        if (t % 2 != 0) {
          lock_.lock();
        } else if (!lock_.try_lock_for(nanoseconds{(i % 64) * 500})) {
          continue;
        }
        ++counter;
        ++acquired[t];
        lock_.unlock();
      }
    });
  }
  for (auto& thread : team) thread.join();
  for (const auto each : acquired) expected += each;
  EXPECT_EQ(counter, expected);
  EXPECT_TRUE(lock_.try_lock());
  lock_.unlock();
}

}  // namespace
}  // namespace lockyard::testing
