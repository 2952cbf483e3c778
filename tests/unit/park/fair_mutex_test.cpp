// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/fair_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

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
    team_.emplace_back(body);
    while (line_world::in_line == before) std::this_thread::yield();
  }
  void join_all() {
    for (auto& thread : team_) thread.join();
  }

  std::vector<std::thread> team_;
};

template <handoff_policy Policy>
using mutex_in_line = basic_fair_mutex<line_world, Policy>;
using every_direct_policy =
    ::testing::Types<mutex_in_line<handoff_policy::strict>, mutex_in_line<handoff_policy::awake>>;
template <class Lock>
class DirectFairMutex : public FairMutex {};
TYPED_TEST_SUITE(DirectFairMutex, every_direct_policy);

TYPED_TEST(DirectFairMutex, grants_to_sleepers_in_order_of_arrival) {
  TypeParam mutex;
  std::vector<int> order;
  mutex.lock();
  for (int i = 0; i < 4; ++i) {
    this->enter([&, i] {
      mutex.lock();
      order.push_back(i);
      mutex.unlock();
    });
  }
  mutex.unlock();
  this->join_all();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TYPED_TEST(DirectFairMutex, lets_a_waiter_leave_from_any_place) {
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
    EXPECT_TRUE(mutex.try_lock()) << "no thread is in the queue any more";
    mutex.unlock();
  }
}

TYPED_TEST(DirectFairMutex, lets_no_newcomer_in_between_release_and_grant) {
  TypeParam mutex;
  std::atomic<bool> may_leave{false};
  mutex.lock();
  this->enter([&] {
    mutex.lock();
    while (!may_leave) std::this_thread::yield();
    mutex.unlock();
  });
  mutex.unlock();
  EXPECT_FALSE(mutex.try_lock());
  may_leave = true;
  this->join_all();
}

/// Another thread has begun to spin before each release, behind a sleeper.
template <handoff_policy Policy>
int overtakes_of_a_sleeper(auto enter, auto join_all) {
  mutex_in_line<Policy> mutex;
  int overtakes = 0;
  int seen = -1;
  std::atomic<int> come{0};
  mutex.lock();
  enter([&] {
    mutex.lock();
    seen = overtakes;
    mutex.unlock();
  });
  const int others = static_cast<int>(mutex.most_overtakes) + 2;
  for (int i = 0; i < others; ++i) {
    enter([&, i] {
      line_world::spins = true;
      mutex.lock();
      ++overtakes;
      while (come <= i + 1 && come < others) std::this_thread::yield();
      mutex.unlock();
    });
    if (come++ == 0) mutex.unlock();
  }
  join_all();
  return seen;
}

TEST_F(FairMutex, lets_spinning_waiters_overtake_a_sleeper_as_often_as_it_says_and_no_more) {
  const auto enter = [this](auto body) { this->enter(body); };
  const auto join_all = [this] {
    this->join_all();
    team_.clear();
  };
  EXPECT_EQ(overtakes_of_a_sleeper<handoff_policy::awake>(enter, join_all),
            static_cast<int>(fair_mutex::most_overtakes));
  EXPECT_EQ(overtakes_of_a_sleeper<handoff_policy::strict>(enter, join_all), 0);
}

TEST_F(FairMutex, when_barging_admits_a_newcomer_before_who_was_called) {
  basic_fair_mutex<scripted_world, handoff_policy::barging> mutex;
  bool barged = false;
  scripted_world::now_playing.on_wait = [&] {
    mutex.unlock();
    if (!barged) barged = mutex.try_lock();
  };
  mutex.lock();
  mutex.lock();
  EXPECT_TRUE(barged);
  EXPECT_EQ(scripted_world::now_playing.pauses, 2) << "it was called again, and came";
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
