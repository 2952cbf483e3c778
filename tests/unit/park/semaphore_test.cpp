// SPDX-License-Identifier: Apache-2.0

// How the semaphore does it, with one thread where a script plays the others, and in line.

#include <lockyard/park/semaphore.hpp>
#include <lockyard/park/semaphore_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::milliseconds;

/// No spin lasts.
struct impatient_world : scripted_world {
  using unwatched = impatient_world;
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return {}; }
};

class Semaphore : public ::testing::Test {
 protected:
  void SetUp() override { scripted_world::now_playing = {}; }
  static script& played() { return scripted_world::now_playing; }

  basic_semaphore<impatient_world> permits_;
};

TEST_F(Semaphore, gives_out_what_it_has_and_no_more) {
  permits_.release(3);
  permits_.acquire(2);
  EXPECT_FALSE(permits_.try_acquire(2));
  EXPECT_TRUE(permits_.try_acquire());
  EXPECT_FALSE(permits_.try_acquire());
  permits_.release();
  EXPECT_TRUE(permits_.try_acquire_for(milliseconds{1}));
  EXPECT_EQ(played().waits + played().wakes, 0);
}

TEST_F(Semaphore, starts_with_the_permits_it_is_told_of) {
  constinit static semaphore full{semaphore::max()};
  EXPECT_TRUE(full.try_acquire(semaphore::max()));
  EXPECT_FALSE(full.try_acquire());
  constinit static semaphore empty;
  EXPECT_FALSE(empty.try_acquire());
}

TEST_F(Semaphore, takes_nothing_for_nothing) {
  EXPECT_TRUE(permits_.try_acquire(0));
  permits_.acquire(0);
  permits_.release(0);
  EXPECT_FALSE(permits_.try_acquire());
  EXPECT_EQ(played().waits, 0);
}

TEST_F(Semaphore, waits_until_there_are_as_many_as_it_was_asked_for) {
  permits_.release();
  played().on_wait = [this] { permits_.release(played().waits); };
  permits_.acquire(4);
  EXPECT_EQ(played().waits, 2) << "1 there, 1 released, 2 released";
  EXPECT_EQ(played().wakes, 1);
  EXPECT_FALSE(permits_.try_acquire());
}

TEST_F(Semaphore, takes_what_is_released_before_it_sleeps) {
  played().on_wait = [this] { permits_.release(); };
  permits_.acquire();
  EXPECT_EQ(played().waits + played().wakes, 0);
  EXPECT_EQ(played().pauses, 1);
}

TEST_F(Semaphore, keeps_permits_for_whom_sleeps_first) {
  played().on_wait = [this] {
    if (played().waits == 1) permits_.release(2);
    EXPECT_FALSE(permits_.try_acquire()) << "they are kept for the one that wants three";
    if (played().waits == 2) permits_.release(2);
  };
  permits_.acquire(3);
  EXPECT_EQ(played().waits, 2);
  EXPECT_TRUE(permits_.try_acquire());
}

TEST_F(Semaphore, forgets_who_gave_up_and_keeps_what_was_released) {
  played().deadlines_pass = true;
  played().on_wait = [this] {
    if (played().waits == 1) permits_.release();
  };
  EXPECT_FALSE(permits_.try_acquire_for(2, milliseconds{1}));
  EXPECT_FALSE(permits_.try_acquire_until(2, std::chrono::steady_clock::now()));
  EXPECT_EQ(played().wakes, 0);
  EXPECT_TRUE(permits_.try_acquire());
}

TEST_F(Semaphore, is_had_at_the_very_deadline) {
  played().deadlines_pass = true;
  played().on_wait = [this] {
    if (played().waits == 1) permits_.release(2);
  };
  EXPECT_TRUE(permits_.try_acquire_for(2, milliseconds{1}));
  EXPECT_FALSE(permits_.try_acquire());
}

TEST_F(Semaphore, has_room_for_max_and_no_more) {
  EXPECT_TRUE(permits_.try_release(semaphore::max()));
  EXPECT_FALSE(permits_.try_release());
  permits_.acquire(2);
  EXPECT_FALSE(permits_.try_release(3));
  EXPECT_TRUE(permits_.try_release(2));
  EXPECT_DEATH(permits_.release(), "more permits are released to a semaphore than it can hold");
  basic_semaphore<native, 2> bounded;
  EXPECT_TRUE(bounded.try_release(2));
  EXPECT_FALSE(bounded.try_release());
}

TEST_F(Semaphore, has_room_only_for_what_it_keeps_while_somebody_sleeps) {
  basic_semaphore<impatient_world, 3> bounded{2};
  played().on_wait = [&] {
    if (played().waits == 0) return;
    EXPECT_FALSE(bounded.try_release(2));
    EXPECT_TRUE(bounded.try_release(1));
  };
  bounded.acquire(3);
  EXPECT_EQ(played().waits, 1);
}

TEST_F(Semaphore, refuses_numbers_that_count_nothing) {
  constexpr const char* message = "a number of permits that is negative or above its max";
  EXPECT_DEATH(permits_.acquire(-1), message);
  EXPECT_DEATH(permits_.release(-1), message);
  EXPECT_DEATH(static_cast<void>(permits_.try_acquire(PTRDIFF_MIN)), message);
  EXPECT_DEATH(static_cast<void>(permits_.try_release(PTRDIFF_MAX)), message);
  EXPECT_DEATH(static_cast<void>(permits_.try_acquire_for(-1, milliseconds{1})), message);
  EXPECT_DEATH(permits_.acquire(semaphore::max() + 1), message);
  const auto make = [](std::ptrdiff_t permits) { const semaphore made{permits}; };
  EXPECT_DEATH(make(-1), message);
  EXPECT_DEATH(make(semaphore::max() + 1), message);
}

TEST_F(Semaphore, as_a_mutex_is_unlocked_by_whoever_likes_and_only_while_held) {
  semaphore_mutex lock;
  lock.lock();
  std::thread{[&] { lock.unlock(); }}.join();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_for(milliseconds{1}));
  lock.unlock();
  EXPECT_DEATH(lock.unlock(), "more permits are released to a semaphore than it can hold");
}

/// The real machine, with a count of the threads that are about to sleep.
struct asleep_world : native {
  static inline std::atomic<int> sleeps{0};

  template <class... Arguments>
  static wait_result wait(Arguments&&... arguments) noexcept {
    ++sleeps;
    return native::wait(std::forward<Arguments>(arguments)...);
  }
};

class SemaphoreLine : public ::testing::Test {
 protected:
  ~SemaphoreLine() override {
    for (auto& thread : team_) thread.join();
  }
  /// Starts a thread that wants so many, and returns when it is in line.
  void start(std::ptrdiff_t wanted) {
    const int asleep = asleep_world::sleeps;
    team_.emplace_back([this, wanted, place = team_.size()] {
      permits_.acquire(wanted);
      served_ |= 1U << place;
      ++through_;
    });
    while (asleep_world::sleeps == asleep) std::this_thread::yield();
  }
  /// The threads that have gone on when so many have.
  unsigned served_when(unsigned through) {
    while (through_ < through) std::this_thread::yield();
    return served_;
  }

  basic_semaphore<asleep_world> permits_;
  std::atomic<unsigned> served_{0};
  std::atomic<unsigned> through_{0};
  std::vector<std::thread> team_;
};

TEST_F(SemaphoreLine, serves_in_order_and_as_many_as_the_permits_last_for) {
  for (const std::ptrdiff_t wanted : {1, 3, 1, 2}) start(wanted);
  permits_.release(3);
  EXPECT_EQ(served_when(1), 0b0001U) << "2 are kept for the second one, though the third wants 1";
  EXPECT_FALSE(permits_.try_acquire());
  permits_.release(2);
  EXPECT_EQ(served_when(3), 0b0111U);
  permits_.release(2);
  EXPECT_EQ(served_when(4), 0b1111U);
  EXPECT_FALSE(permits_.try_acquire());
}

TEST_F(SemaphoreLine, lets_those_behind_go_on_when_the_first_gives_up) {
  const int asleep = asleep_world::sleeps;
  std::thread patient_for_a_while{[this] {
    EXPECT_FALSE(
        permits_.try_acquire_until(3, std::chrono::steady_clock::now() + milliseconds{20}));
  }};
  while (asleep_world::sleeps == asleep) std::this_thread::yield();
  start(1);
  permits_.release(2);
  patient_for_a_while.join();
  EXPECT_EQ(served_when(1), 0b1U);
  EXPECT_TRUE(permits_.try_acquire());
}

TEST_F(SemaphoreLine, lets_more_go_on_than_are_woken_at_once) {
  for (int each = 0; each < 20; ++each) start(1);
  permits_.release(20);
  EXPECT_EQ(served_when(20), (1U << 20U) - 1);
}

}  // namespace
}  // namespace lockyard::testing
