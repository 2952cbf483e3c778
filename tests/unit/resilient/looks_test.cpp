// SPDX-License-Identifier: Apache-2.0

// What waiters find when they look, one look at a time, at a time that the test tells.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/directed_world.hpp"
#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::hours;

template <class Lock>
class Looks : public ::testing::Test {};
TYPED_TEST_SUITE(Looks, both_forms<directed_world>, form_name);

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
  directed_world::now_ns += 1'000'000;
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
  // Only the head looks after the lock's stall.
  for (int i = 0; i < 100; ++i) line[2]->look_after(milliseconds{1});
  EXPECT_FALSE(line[2]->is_over());
  line[1]->look();  // counts ten of these
  for (int i = 0; i < 29; ++i) line[1]->look_after(milliseconds{1});
  EXPECT_FALSE(line[1]->is_over());
  line[1]->look_after(milliseconds{1});
  for (const std::size_t i : {1U, 2U, 3U, 4U}) line[i]->join();
  EXPECT_FALSE(line[0]->is_over()) << "it is in no thread's queue";
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
    directed_world::has_slot = false;
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

/// A thread waits with its own limit at each place of a queue, and the others still get it in
/// order.
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
    EXPECT_TRUE(told.list().empty()) << "a caller's own time-out is not reported";
    lock.unlock();
    line.clear();
    std::vector<std::size_t> expected{0, 1, 2, 3, 4};
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(leaver));
    EXPECT_EQ(order, expected);
    EXPECT_TRUE(is_free(lock));
  }
}

/// All leave by their own limits, in the order of these limits, which differs from the order of the
/// queue.
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
    directed_world::now_ns += 10'000'000;
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
