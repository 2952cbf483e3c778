// SPDX-License-Identifier: Apache-2.0

// How each event does it, with one thread: where it would wait, a script plays the others.

#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::milliseconds;

static_assert(sizeof(event_count) == 8 && sizeof(spinning_event_count) == 12);
static_assert(sizeof(manual_reset_event) == 4 && sizeof(auto_reset_event) == 1);

/// Counts barriers, and has them or not, and fences; time passes if the test says so.
struct played_world : scripted_world {
  using unwatched = played_world;
  static inline int barriers = 0;
  static inline bool barriers_work = true;
  static inline int fences = 0;  ///< fences of threads that do not rely on barriers
  static inline bool time_passes = false;

  static bool asymmetric_fence_heavy() noexcept {
    ++barriers;
    return barriers_work;
  }
  static bool asymmetric_fence_register() noexcept { return barriers_work; }
  static void asymmetric_fence_light() noexcept { ++fences; }
  static void asymmetric_fence_light(registered_t /*tag*/) noexcept {}
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return {}; }
  static bool passed(deadline limit) noexcept { return limit == deadline{} || time_passes; }
  template <class... Arguments>
  static auto await(Arguments&&... arguments) noexcept {
    return spinning<played_world>::await(std::forward<Arguments>(arguments)...);
  }
};

class Played : public ::testing::Test {
 protected:
  void SetUp() override {
    scripted_world::now_playing = {};
    played_world::barriers = 0;
    played_world::barriers_work = true;
    played_world::fences = 0;
    played_world::time_passes = false;
  }
  static script& played() { return scripted_world::now_playing; }
};

class EventCount : public Played {
 protected:
  basic_event_count<played_world> count_;
  std::atomic<bool> holds_{false};

  auto holding() {
    return [this] { return holds_.load(); };
  }
};

TEST_F(EventCount, makes_no_system_call_while_nobody_waits) {
  count_.notify_one();
  count_.notify_all();
  holds_ = true;
  count_.await(holding());
  EXPECT_EQ(played_world::barriers, 0);
  EXPECT_EQ(played().wakes + played().waits, 0);
}

TEST_F(EventCount, wakes_whom_it_is_told_of) {
  played().on_wait = [this] {
    holds_ = true;
    count_.notify_one();
  };
  count_.await(holding());
  EXPECT_EQ(played().waits, 1);
  EXPECT_EQ(played().wakes, 1);
  count_.notify_all();
  EXPECT_EQ(played().wakes, 1) << "no waiter is left";
}

TEST_F(EventCount, does_not_sleep_when_a_notification_came_since_it_prepared) {
  const auto key = count_.prepare_wait();
  count_.notify_one();
  count_.commit_wait(key);
  EXPECT_EQ(played().waits, 0);
}

TEST_F(EventCount, forgets_a_wait_that_was_cancelled_or_gave_up) {
  static_cast<void>(count_.prepare_wait());
  count_.cancel_wait();
  played().deadlines_pass = true;
  EXPECT_FALSE(count_.await_for(milliseconds{1}, holding()));
  EXPECT_FALSE(count_.commit_wait_for(count_.prepare_wait(), milliseconds{1}));
  const auto soon = std::chrono::steady_clock::now() + milliseconds{1};
  played().on_wait = [soon] { std::this_thread::sleep_until(soon); };
  EXPECT_FALSE(count_.await_until(soon, holding()));
  const int waits = played().waits;
  count_.notify_all();
  EXPECT_EQ(played().wakes, 0);
  EXPECT_GE(waits, 3);
}

TEST_F(EventCount, needs_one_barrier_for_all_who_wait_at_a_time) {
  static_cast<void>(count_.prepare_wait());
  static_cast<void>(count_.prepare_wait());
  EXPECT_EQ(played_world::barriers, 1);
  count_.cancel_wait();
  count_.cancel_wait();
  static_cast<void>(count_.prepare_wait());
  EXPECT_EQ(played_world::barriers, 2) << "the barrier's waiter has gone";
  count_.cancel_wait();
}

TEST_F(EventCount, looks_again_by_itself_where_it_cannot_have_a_barrier) {
  played_world::barriers_work = false;
  played().deadlines_pass = true;
  played().on_wait = [this] { holds_ = played().waits == 3; };  // and no thread notifies
  count_.await(holding());
  EXPECT_EQ(played().waits, 3);
  EXPECT_EQ(played_world::barriers, 3) << "a failed one arms nothing";
}

TEST_F(EventCount, has_its_fence_again_after_a_barrier_that_failed) {
  count_.notify_one();
  EXPECT_EQ(played_world::fences, 1) << "which opens it";
  count_.notify_one();
  count_.notify_all();
  EXPECT_EQ(played_world::fences, 1) << "it is open";
  played_world::barriers_work = false;
  static_cast<void>(count_.prepare_wait());
  count_.cancel_wait();
  count_.notify_one();
  count_.notify_all();
  EXPECT_EQ(played_world::fences, 3) << "it is closed, and stays so";
}

TEST_F(EventCount, believes_who_tells_it_something_late_where_it_cannot_have_a_barrier) {
  played_world::barriers_work = false;
  played().deadlines_pass = true;
  played_world::time_passes = true;
  EXPECT_FALSE(count_.commit_wait_for(count_.prepare_wait(), milliseconds{1}));
  played().on_wait = [this] { count_.notify_one(); };
  EXPECT_TRUE(count_.commit_wait_for(count_.prepare_wait(), milliseconds{1}));
  EXPECT_EQ(played().waits, 2);
  played().on_wait = {};
  played_world::time_passes = false;
  EXPECT_TRUE(count_.commit_wait_for(count_.prepare_wait(), milliseconds{1}))
      << "the time that ended it was not the caller's";
}

TEST_F(EventCount, learns_whether_to_spin) {
  basic_event_count<played_world, idle_policy::spin> spinning;
  const auto wait = [&] {
    holds_ = false;
    played().pauses = 0;
    played().on_wait = [&] {
      if (played().waits == 0) return;
      holds_ = true;
      spinning.notify_one();
    };
    spinning.await(holding());
    played().waits = 0;
    return played().pauses > 0;
  };
  played_world::time_passes = true;
  EXPECT_TRUE(wait()) << "to begin with it spins";
  for (int i = 0; i < 10; ++i) wait();
  EXPECT_FALSE(wait()) << "waits were long";
  played_world::time_passes = false;
  bool spins = false;
  for (int i = 0; i < 6 && !spins; ++i) spins = wait();
  EXPECT_TRUE(spins) << "waits were brief";
}

class ManualResetEvent : public Played {
 protected:
  basic_manual_reset_event<played_world> event_;
};

TEST_F(ManualResetEvent, lets_through_from_set_to_reset) {
  EXPECT_FALSE(event_.try_wait());
  event_.set();
  event_.set();
  EXPECT_TRUE(event_.try_wait());
  event_.wait();
  event_.reset();
  EXPECT_FALSE(event_.try_wait());
  EXPECT_EQ(played().wakes, 0);
  EXPECT_TRUE(basic_manual_reset_event<played_world>{true}.try_wait());
}

TEST_F(ManualResetEvent, lets_who_waits_through_even_if_it_is_reset_at_once) {
  played().on_wait = [this] {
    event_.set();
    event_.reset();
  };
  event_.wait();
  EXPECT_EQ(played().waits, 1);
  EXPECT_EQ(played().wakes, 1);
}

TEST_F(ManualResetEvent, gives_up_at_the_deadline_and_no_sooner) {
  EXPECT_FALSE(event_.wait_for(milliseconds{0}));
  EXPECT_EQ(played().waits, 0);
  played().on_wait = [] { played().deadlines_pass = played().waits == 3; };
  EXPECT_FALSE(event_.wait_for(milliseconds{1}));
  EXPECT_EQ(played().waits, 3) << "two returns for no reason";
  played().on_wait = [this] { event_.set(); };
  EXPECT_TRUE(event_.wait_for(milliseconds{1})) << "set at the very deadline";
}

class AutoResetEvent : public Played {
 protected:
  basic_auto_reset_event<played_world> event_;
};

TEST_F(AutoResetEvent, lets_one_through_for_each_set) {
  event_.set();
  event_.set();
  event_.wait();
  EXPECT_FALSE(event_.try_wait()) << "sets do not add up";
  event_.set();
  event_.reset();
  EXPECT_FALSE(event_.try_wait());
  EXPECT_EQ(played().wakes, 0);
  EXPECT_TRUE(basic_auto_reset_event<played_world>{true}.try_wait());
}

TEST_F(AutoResetEvent, is_not_set_when_it_has_let_a_waiter_through) {
  played().on_wait = [this] { event_.set(); };
  event_.wait();
  EXPECT_EQ(played().waits, 1);
  EXPECT_EQ(played().wakes, 1);
  EXPECT_FALSE(event_.try_wait());
}

TEST_F(AutoResetEvent, forgets_who_gave_up) {
  played().deadlines_pass = true;
  EXPECT_FALSE(event_.wait_for(milliseconds{1}));
  event_.set();
  EXPECT_EQ(played().wakes, 0);
  EXPECT_TRUE(event_.try_wait());
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

TEST(AutoResetEventLine, lets_waiters_through_in_the_order_of_their_waits) {
  constexpr int threads = 4;
  basic_auto_reset_event<asleep_world> event;
  std::atomic<int> through{0};
  std::array<std::atomic<int>, threads> order{};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    const int asleep = asleep_world::sleeps;
    team.emplace_back([&, t] {
      event.wait();
      order[static_cast<std::size_t>(through)] = t;
      ++through;
    });
    while (asleep_world::sleeps == asleep) std::this_thread::yield();  // it is in line
  }
  for (int t = 0; t < threads; ++t) {
    event.set();
    while (through != t + 1) std::this_thread::yield();
  }
  for (auto& thread : team) thread.join();
  for (int t = 0; t < threads; ++t) EXPECT_EQ(order[static_cast<std::size_t>(t)], t);
}

}  // namespace
}  // namespace lockyard::testing
