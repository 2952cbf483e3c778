// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/fair_mutex.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/asleep.hpp"
#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

/// The real machine, where a thread spins only if it is told to, and then for as long as it takes,
/// and where deadlines pass when the test says so.
struct line_world : derived_world<line_world, native> {
  static inline std::atomic<int> in_line{0};  ///< how often a thread has begun to spin or sleep
  static inline std::atomic<bool> is_late{false};
  static inline thread_local bool spins = false;

  template <class... Arguments>
  static auto await(Arguments&&... arguments) noexcept {
    if constexpr (sizeof...(Arguments) == 5) in_line += spins ? 1 : 0;
    return derived_world<line_world, native>::await(std::forward<Arguments>(arguments)...);
  }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept {
    return spins ? deadline::max() : deadline::min();
  }

  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          deadline limit = never) noexcept {
    ++in_line;
    if (limit == never) return native::wait(word, expected);
    while (!is_late) native::yield();
    return wait_result::timed_out;
  }
};
static_assert(world<line_world>);

class FairMutex : public ::testing::Test {
 protected:
  void SetUp() override {
    line_world::in_line = 0;
    line_world::is_late = false;
    scripted_world::now_playing = {};
  }
  /// Starts a thread and returns when it is in line.
  template <class Body>
  void enter(Body body) {
    const int before = line_world::in_line;
    newest_ = 0;
    team_.emplace_back([this, body] {
      newest_ = static_cast<std::uint32_t>(gettid());
      body();
    });
    while (line_world::in_line == before || newest_ == 0) std::this_thread::yield();
  }
  /// The newest thread would look again, and might come first, if the mutex were released just
  /// before it sleeps.
  void await_sleep_of_newest() { await_sleep_of(newest_); }
  void join_all() {
    for (auto& thread : team_) thread.join();
  }

  std::atomic<std::uint32_t> newest_{0};
  std::vector<std::thread> team_;
};

template <handoff_policy Policy>
using mutex_in_line = basic_fair_mutex<line_world, Policy>;
using every_policy =
    ::testing::Types<mutex_in_line<handoff_policy::strict>, mutex_in_line<handoff_policy::patient>,
                     mutex_in_line<handoff_policy::barging>>;
template <class Lock>
class OrderOfFairMutex : public FairMutex {};
TYPED_TEST_SUITE(OrderOfFairMutex, every_policy);

TYPED_TEST(OrderOfFairMutex, grants_to_sleepers_in_order_of_arrival) {
  TypeParam mutex;
  std::vector<int> order;
  mutex.lock();
  for (int i = 0; i < 4; ++i) {
    this->enter([&, i] {
      mutex.lock();
      order.push_back(i);
      mutex.unlock();
    });
    this->await_sleep_of_newest();
  }
  mutex.unlock();
  this->join_all();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TYPED_TEST(OrderOfFairMutex, lets_a_waiter_leave_from_any_place) {
  for (int leaver = 0; leaver < 3; ++leaver) {
    TypeParam mutex;
    std::vector<int> order;
    line_world::is_late = false;
    mutex.lock();
    for (int i = 0; i < 3; ++i) {
      this->enter([&, i, leaves = i == leaver] {
        if (leaves) {
          EXPECT_FALSE(mutex.try_lock_for(std::chrono::hours{1}));
        } else {
          mutex.lock();
          order.push_back(i);
          mutex.unlock();
        }
      });
    }
    line_world::is_late = true;
    this->team_[static_cast<std::size_t>(leaver)].join();
    this->team_.erase(this->team_.begin() + leaver);
    mutex.unlock();
    this->join_all();
    this->team_.clear();
    std::vector expected{0, 1, 2};
    expected.erase(expected.begin() + leaver);
    EXPECT_EQ(order, expected);
    EXPECT_TRUE(mutex.try_lock()) << "no thread is in the queue any longer";
    mutex.unlock();
  }
}

TEST_F(FairMutex, when_strict_lets_no_newcomer_in_between_release_and_grant) {
  mutex_in_line<handoff_policy::strict> mutex;
  std::atomic<bool> may_leave{false};
  mutex.lock();
  enter([&] {
    mutex.lock();
    while (!may_leave) std::this_thread::yield();
    mutex.unlock();
  });
  mutex.unlock();
  EXPECT_FALSE(mutex.try_lock());
  may_leave = true;
  join_all();
}

/// One thread plays all threads, and time stands still unless the test moves it. Spins end after
/// one step, and an unlock reads the clock if it may.
struct hourly_world : derived_world<hourly_world, scripted_world> {
  static inline time_point hour{};
  static time_point now() noexcept { return hour; }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept {
    return deadline::min();
  }
  static std::uint32_t pauses_in(std::chrono::nanoseconds /*length*/) noexcept { return 1; }
  static std::uint32_t random() noexcept { return 0; }
};

template <handoff_policy Policy>
using mutex_by_hours = basic_fair_mutex<hourly_world, Policy>;
using patient_mutex = mutex_by_hours<handoff_policy::patient>;

/// Returns whether a newcomer barges past an unparked waiter: before it has lost its patience, when
/// it has lost that but has not looked, and when it has looked.
template <handoff_policy Policy>
std::vector<bool> barges() {
  std::vector<bool> barged;
  mutex_by_hours<Policy> mutex;
  auto& script = scripted_world::now_playing;
  const auto release = [&] {
    mutex.unlock();
    barged.push_back(mutex.try_lock());
  };
  int looks = 0;
  script.on_wait = [&] {
    if (looks < script.waits && looks < 2) {
      if (++looks == 2) hourly_world::hour += std::chrono::hours{1};
      release();
    } else if (looks == 2) {
      looks = 3;
      release();
      if (barged.back()) mutex.unlock();
    }
  };
  mutex.lock();
  mutex.lock();
  mutex.unlock();
  return barged;
}

TEST_F(FairMutex, when_patient_admits_newcomers_until_the_first_is_out_of_patience) {
  EXPECT_EQ(barges<handoff_policy::patient>(), (std::vector{true, false}));
}

TEST_F(FairMutex, when_patient_hands_off_to_a_sleeper_after_twice_the_patience) {
  patient_mutex mutex;
  auto& script = scripted_world::now_playing;
  script.deadlines_pass = true;
  std::optional<bool> barged;
  script.on_wait = [&] {
    if (script.waits == 0 || barged) return;
    barged = true;
    hourly_world::hour += 2 * patient_mutex::patience;
    mutex.unlock();
    barged = mutex.try_lock_for(std::chrono::hours{1});
    if (*barged) mutex.unlock();
  };
  mutex.lock();
  mutex.lock();
  EXPECT_EQ(barged, false);
  EXPECT_EQ(script.wakes, 1);
  mutex.unlock();
}

TEST_F(FairMutex, when_patient_one_newcomer_leaves_a_woken_waiter_its_processor) {
  patient_mutex mutex;
  auto& script = scripted_world::now_playing;
  script.deadlines_pass = true;
  enum { sleeps, is_late, has_room } first = sleeps;
  int newcomers_sleeps = 0;
  std::vector<bool> others_barge;
  script.on_wait = [&] {
    if (script.waits == 0 || first == has_room) return;
    if (first == is_late) {
      ++newcomers_sleeps;
      first = has_room;
      for (int i = 0; i < 2; ++i) {
        others_barge.push_back(mutex.try_lock());
        mutex.unlock();
      }
      return;
    }
    hourly_world::hour += patient_mutex::patience;
    first = is_late;
    mutex.unlock();
    others_barge.push_back(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_for(std::chrono::hours{1})) << "late, but the mutex is free";
    mutex.unlock();
  };
  mutex.lock();
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(newcomers_sleeps, 1);
  EXPECT_EQ(others_barge, (std::vector{false, true, true}));
}

TEST_F(FairMutex, when_barging_admits_newcomers_forever) {
  EXPECT_EQ(barges<handoff_policy::barging>(), (std::vector{true, true, true}));
}

TEST_F(FairMutex, wakes_no_thread_while_a_waiter_is_active) {
  mutex_by_hours<handoff_policy::patient> mutex;
  auto& script = scripted_world::now_playing;
  int wakes_before_release = -1;
  enum { comes, spins, has_left } newcomer = comes;
  script.on_wait = [&] {
    if (newcomer == spins) {
      mutex.unlock();
    } else if (newcomer == comes && script.waits > 0) {
      newcomer = spins;  // because the thread in the queue sleeps
      mutex.lock();
      newcomer = has_left;
      wakes_before_release = script.wakes;
      mutex.unlock();
    }
  };
  mutex.lock();
  mutex.lock();
  EXPECT_EQ(wakes_before_release, 0);
  EXPECT_EQ(script.wakes, 1) << "the active waiter's own unlock unparks the sleeper";
  mutex.unlock();
}

TEST_F(FairMutex, makes_no_system_call_while_nobody_sleeps) {
  basic_fair_mutex<scripted_world> mutex;
  mutex.lock();
  scripted_world::now_playing.on_wait = [&] { mutex.unlock(); };
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(scripted_world::now_playing.waits, 0);
  EXPECT_EQ(scripted_world::now_playing.wakes, 0);
}

}  // namespace
}  // namespace lockyard::testing
