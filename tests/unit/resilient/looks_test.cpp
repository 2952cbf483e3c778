// SPDX-License-Identifier: Apache-2.0

// What waiters find when they look, one look at a time, at a time that the test tells.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/resilient.hpp"
#include "support/told_world.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::hours;

template <class Lock>
class Looks : public ::testing::Test {};
TYPED_TEST_SUITE(Looks, both_forms<told_world>, form_name);

constexpr resilience every_detector{.victim = deadlock_victim::detector};
template <class Lock>
class DetectorLooks : public ::testing::Test {};
using detector_forms = both_forms<told_world, every_detector>;
TYPED_TEST_SUITE(DetectorLooks, detector_forms, form_name);

/// A ring of actors: each holds its lock and wants the next one's. Their tables are in the order of
/// their numbers.
template <class Lock>
class ring {
 public:
  explicit ring(std::size_t length) : locks_(length), how_(length), may_begin_(length) {
    for (std::size_t i = 0; i < length; ++i) {
      actors_.push_back(std::make_unique<actor>([this, i] { play(i); }));
      await([&] { return holding_ == i + 1; });
    }
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { join(); }

  /// It begins to wait, and looks for the first time.
  void begin(std::size_t i) {
    may_begin_[i] = true;
    actors_[i]->arrive();
    actors_[i]->look();
  }
  void look(std::size_t i) { actors_[i]->look(); }
  [[nodiscard]] bool is_over(std::size_t i) const { return actors_[i]->is_over(); }
  void join() { actors_.clear(); }
  /// Whether all but this one got what they wanted. To be asked after join().
  [[nodiscard]] bool has_one_victim(std::size_t victim) const {
    for (std::size_t i = 0; i < how_.size(); ++i) {
      if (how_[i] != (i == victim ? lock_errc::deadlock : lock_errc::acquired)) return false;
    }
    return true;
  }

 private:
  void play(std::size_t i) {
    EXPECT_TRUE(locks_[i].lock());
    ++holding_;
    await([&] { return may_begin_[i].load(); });
    Lock& next = locks_[(i + 1) % locks_.size()];
    how_[i] = next.lock().code();
    if (how_[i] == lock_errc::acquired) next.unlock();
    locks_[i].unlock();
  }

  limits_for<Lock> limits_{patient};
  std::vector<Lock> locks_;
  std::vector<lock_errc> how_;
  std::vector<std::atomic<bool>> may_begin_;
  std::atomic<std::size_t> holding_{0};
  std::vector<std::unique_ptr<actor>> actors_;
};

TYPED_TEST(Looks, at_a_cycle_make_its_youngest_the_only_victim) {
  for (std::size_t length = 2; length <= 8; ++length) {
    for (std::size_t youngest = 0; youngest < length; ++youngest) {
      ring<TypeParam> threads{length};
      for (std::size_t i = 1; i <= length; ++i) {
        for (std::size_t each = 0; each < length; ++each) EXPECT_FALSE(threads.is_over(each));
        told_world::now_ns += 1000;
        threads.begin((youngest + i) % length);
      }
      threads.join();
      EXPECT_TRUE(threads.has_one_victim(youngest)) << youngest << " of " << length;
    }
  }
}

TYPED_TEST(Looks, at_a_cycle_of_equals_make_the_last_table_the_victim) {
  ring<TypeParam> threads{3};
  for (const std::size_t i : {2U, 1U, 0U}) threads.begin(i);
  for (const std::size_t i : {1U, 0U, 1U}) {
    threads.look(i);
    EXPECT_FALSE(threads.is_over(i));
  }
  threads.look(2);
  threads.join();
  EXPECT_TRUE(threads.has_one_victim(2));
}

TYPED_TEST(Looks, at_a_cycle_whose_victim_does_not_leave_end_the_third_time) {
  ring<TypeParam> threads{3};
  for (const std::size_t i : {2U, 1U, 0U}) threads.begin(i);  // 0 has seen the cycle once
  threads.look(0);
  EXPECT_FALSE(threads.is_over(0));
  threads.look(0);
  threads.join();
  EXPECT_TRUE(threads.has_one_victim(0));
}

TYPED_TEST(DetectorLooks, at_a_cycle_end_for_whoever_finds_it) {
  ring<TypeParam> threads{3};
  for (const std::size_t i : {2U, 1U, 0U}) threads.begin(i);
  threads.join();
  EXPECT_TRUE(threads.has_one_victim(0));
}

/// The older wait of the other one is over; what it wanted is in no table any more.
TYPED_TEST(Looks, do_not_believe_in_a_wait_that_is_over) {
  const limits_for<TypeParam> limits{patient};
  TypeParam first, second, third;
  std::atomic<bool> has_failed{false};
  std::atomic<bool> may_wait{false};
  ASSERT_TRUE(third.lock());
  std::atomic<bool> keeps{false};
  actor one{[&] {
    ASSERT_TRUE(first.lock());
    await([&] { return keeps.load(); });
    EXPECT_EQ(second.try_lock_for(milliseconds{1}), lock_errc::timed_out);
    has_failed = true;
    await([&] { return may_wait.load(); });
    ASSERT_EQ(third.lock(), lock_errc::acquired);
    third.unlock();
    first.unlock();
  }};
  actor other{[&] {
    ASSERT_TRUE(second.lock());
    keeps = true;
    await([&] { return has_failed.load(); });
    ASSERT_EQ(first.lock(), lock_errc::acquired);
    first.unlock();
    second.unlock();
  }};
  one.arrive();
  one.look();
  EXPECT_EQ(waiters_of(second), 1U);
  told_world::now_ns += 1'000'000;
  one.let_look();
  other.arrive();
  for (int i = 0; i < 5; ++i) other.look();
  EXPECT_FALSE(other.is_over());
  const int before = one.come();
  may_wait = true;
  one.arrive(before + 1);
  for (int i = 0; i < 5; ++i) one.look();
  for (int i = 0; i < 5; ++i) other.look();
  EXPECT_FALSE(one.is_over() || other.is_over());
  third.unlock();
}

TYPED_TEST(Looks, end_a_first_waiters_wait_when_its_time_is_over_and_not_before) {
  const limits_for<TypeParam> limits{{milliseconds{20}, hours{1}}};
  const reports told;
  TypeParam lock;
  lock_errc how = lock_errc::acquired;
  ASSERT_TRUE(lock.lock());
  actor waiter{[&] { how = lock.lock().code(); }};
  waiter.arrive();
  waiter.look();
  for (int i = 0; i < 19; ++i) {
    waiter.look_after(milliseconds{1});
    ASSERT_FALSE(waiter.is_over()) << i;
  }
  waiter.look_after(milliseconds{1});
  EXPECT_TRUE(waiter.is_over());
  waiter.join();
  EXPECT_EQ(how, lock_errc::timed_out);
  EXPECT_EQ(told.count(lock_event::stalled), 1U);
  lock.unlock();
  EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(Looks, of_a_waiter_that_was_stopped_do_not_count_that_time) {
  const limits_for<TypeParam> limits{{milliseconds{250}, hours{1}}};
  TypeParam lock;
  lock_errc how = lock_errc::timed_out;
  ASSERT_TRUE(lock.lock());
  {
    actor waiter{[&] {
      how = lock.lock().code();
      if (how == lock_errc::acquired) lock.unlock();
    }};
    waiter.arrive();
    for (int i = 0; i < 20; ++i) waiter.look_after(hours{1});
    EXPECT_FALSE(waiter.is_over());
    lock.unlock();
  }
  EXPECT_EQ(how, lock_errc::acquired);
}

TYPED_TEST(Looks, never_end_a_wait_whose_stall_time_out_is_off) {
  const limits_for<TypeParam> limits{patient};
  TypeParam lock;
  ASSERT_TRUE(lock.lock());
  actor waiter{[&] {
    EXPECT_EQ(lock.lock(), lock_errc::acquired);
    lock.unlock();
  }};
  waiter.arrive();
  for (int i = 0; i < 1000; ++i) waiter.look_after(hours{1});
  EXPECT_FALSE(waiter.is_over());
  lock.unlock();
}

TYPED_TEST(Looks, of_the_head_end_the_wait_of_everybody_behind_it) {
  const limits_for<TypeParam> limits{{hours{1}, milliseconds{40}}};
  const reports told;
  TypeParam lock;
  std::vector<lock_errc> how(5, lock_errc::acquired);
  ASSERT_TRUE(lock.lock());
  std::vector<std::unique_ptr<actor>> line;
  for (std::size_t i = 0; i < how.size(); ++i) {
    line.push_back(std::make_unique<actor>([&, i] {
      how[i] = lock.lock().code();
      if (how[i] == lock_errc::acquired) lock.unlock();
    }));
    line[i]->arrive();
    line[i]->look();
  }
  // Nobody but the head looks after the lock's stall.
  for (int i = 0; i < 100; ++i) line[2]->look_after(milliseconds{1});
  EXPECT_FALSE(line[2]->is_over());
  line[1]->look();  // counts ten of these
  for (int i = 0; i < 29; ++i) line[1]->look_after(milliseconds{1});
  EXPECT_FALSE(line[1]->is_over());
  line[1]->look_after(milliseconds{1});
  for (const std::size_t i : {1U, 2U, 3U, 4U}) line[i]->join();
  EXPECT_FALSE(line[0]->is_over()) << "it is in the queue of nobody";
  lock.unlock();
  line.clear();
  EXPECT_EQ(how.front(), lock_errc::acquired);
  EXPECT_EQ(std::count(how.begin() + 1, how.end(), lock_errc::timed_out), 4);
  EXPECT_EQ(told.count(lock_event::stalled), 4U);
  EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(Looks, of_a_new_head_count_from_when_it_became_that) {
  const limits_for<TypeParam> limits{{hours{1}, milliseconds{40}}};
  TypeParam lock;
  std::atomic<bool> has_it{false};
  std::atomic<bool> may_leave{false};
  lock_errc how = lock_errc::acquired;
  ASSERT_TRUE(lock.lock());
  actor first{[&] {
    ASSERT_TRUE(lock.lock());
    lock.unlock();
  }};
  first.arrive();
  actor head{[&] {
    ASSERT_TRUE(lock.lock());
    has_it = true;
    await([&] { return may_leave.load(); });
    lock.unlock();
  }};
  head.arrive();
  actor behind{[&] { how = lock.lock().code(); }};
  behind.arrive();
  for (int i = 0; i < 100; ++i) behind.look_after(milliseconds{1});
  const int before = behind.come();
  lock.unlock();
  await([&] { return has_it.load(); });
  behind.arrive(before + 1);  // in front
  behind.look();              // counts from here
  for (int i = 0; i < 39; ++i) {
    behind.look_after(milliseconds{1});
    ASSERT_FALSE(behind.is_over()) << i;
  }
  behind.look_after(milliseconds{1});
  EXPECT_TRUE(behind.is_over());
  may_leave = true;
  head.join();
  behind.join();
  EXPECT_EQ(how, lock_errc::timed_out);
  EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(Looks, without_a_node_end_the_wait_after_a_second) {
  const limits_for<TypeParam> limits{patient};
  TypeParam lock;
  lock_errc how = lock_errc::acquired;
  ASSERT_TRUE(lock.lock());
  actor first{[&] {
    ASSERT_TRUE(lock.lock());
    lock.unlock();
  }};
  first.arrive();
  actor without{[&] {
    told_world::has_slot = false;
    how = lock.lock().code();
  }};
  without.arrive();
  without.look();
  for (int i = 0; i < 99; ++i) without.look_after(milliseconds{10});
  EXPECT_FALSE(without.is_over());
  without.look_after(milliseconds{10});
  EXPECT_TRUE(without.is_over());
  lock.unlock();
  first.join();
  without.join();
  EXPECT_EQ(how, lock_errc::timed_out);
  EXPECT_TRUE(is_free(lock));
}

/// Who waits with a limit of its own at each place of a line, and the others still get it in order.
TYPED_TEST(Looks, end_a_wait_when_its_own_time_is_over_wherever_it_stands) {
  constexpr std::size_t length = 5;
  for (std::size_t leaver = 0; leaver < length; ++leaver) {
    const limits_for<TypeParam> limits{patient};
    const reports told;
    TypeParam lock;
    std::vector<std::size_t> order;
    lock_errc how = lock_errc::acquired;
    ASSERT_TRUE(lock.lock());
    std::vector<std::unique_ptr<actor>> line;
    for (std::size_t i = 0; i < length; ++i) {
      line.push_back(std::make_unique<actor>([&, i] {
        if (i == leaver) {
          how = lock.try_lock_for(milliseconds{10}).code();
          return;
        }
        ASSERT_TRUE(lock.lock());
        order.push_back(i);
        lock.unlock();
      }));
      line[i]->arrive();
      line[i]->look();
    }
    line[leaver]->look_after(milliseconds{9});
    EXPECT_FALSE(line[leaver]->is_over());
    line[leaver]->look_after(milliseconds{1});
    EXPECT_TRUE(line[leaver]->is_over());
    line[leaver]->join();
    EXPECT_EQ(how, lock_errc::timed_out);
    EXPECT_TRUE(told.list().empty()) << "a caller's own time-out is no news";
    lock.unlock();
    line.clear();
    std::vector<std::size_t> expected{0, 1, 2, 3, 4};
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(leaver));
    EXPECT_EQ(order, expected);
    EXPECT_TRUE(is_free(lock));
  }
}

/// All leave by their own limits, in the order of these, which is not that of the line.
TYPED_TEST(Looks, let_waiters_leave_in_the_order_of_their_limits) {
  const limits_for<TypeParam> limits{patient};
  TypeParam lock;
  ASSERT_TRUE(lock.lock());
  const std::vector<int> length_ms{30, 10, 50, 20, 40};
  std::vector<std::unique_ptr<actor>> line;
  for (std::size_t i = 0; i < length_ms.size(); ++i) {
    line.push_back(std::make_unique<actor>([&, i] {
      EXPECT_EQ(lock.try_lock_for(milliseconds{length_ms[i]}), lock_errc::timed_out);
    }));
    line[i]->arrive();
    line[i]->look();
  }
  for (int now_ms = 10; now_ms <= 50; now_ms += 10) {
    told_world::now_ns += 10'000'000;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!line[i]->is_over()) line[i]->look();
      EXPECT_EQ(line[i]->is_over(), length_ms[i] <= now_ms) << i << " at " << now_ms;
    }
  }
  lock.unlock();
  EXPECT_TRUE(is_free(lock));
}

}  // namespace
}  // namespace lockyard::testing
