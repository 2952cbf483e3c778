// SPDX-License-Identifier: Apache-2.0

// Threads that end while they hold, forked children, and more threads than there are tables.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/directed_world.hpp"
#include "support/exclusion.hpp"
#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class Ends : public ::testing::Test {};
TYPED_TEST_SUITE(Ends, all_locks, form_name);

template <class Lock>
void die_holding(Lock& lock) {
  std::thread{[&] { ASSERT_TRUE(lock.lock()); }}.join();
}

TYPED_TEST(Ends, of_an_owner_are_told_and_mended_once) {
  const limits_for<TypeParam> limits{patient};
  const reports told;
  TypeParam lock;
  for (int death = 0; death < 3; ++death) {
    die_holding(lock);
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(lock.lock(), lock_errc::owner_dead);
    EXPECT_EQ(lock.try_lock_for(std::chrono::hours{1}), lock_errc::owner_dead);
    EXPECT_TRUE(lock.release_dead_owner());
    EXPECT_FALSE(lock.release_dead_owner());
    ASSERT_EQ(lock.lock(), lock_errc::acquired);
    EXPECT_FALSE(lock.release_dead_owner());
    lock.unlock();
    EXPECT_TRUE(is_free(lock));
  }
  EXPECT_EQ(told.count(lock_event::owner_dead), 6U);
}

TYPED_TEST(Ends, of_an_owner_are_told_to_all_who_wait_already) {
  const limits_for<TypeParam> limits{patient};
  TypeParam lock;
  std::atomic<bool> is_held{false};
  std::atomic<bool> may_end{false};
  std::atomic<int> told_so{0};
  std::atomic<int> mended{0};
  team owner;
  owner.start([&] {
    ASSERT_TRUE(lock.lock());
    is_held = true;
    await([&] { return may_end.load(); });
  });
  await([&] { return is_held.load(); });
  team line;
  for (int i = 0; i < 4; ++i) {
    line.enter(lock, [&] {
      lock_result how = lock.lock();
      EXPECT_EQ(how, lock_errc::owner_dead);
      ++told_so;
      await([&] { return told_so == 4; });
      mended += lock.release_dead_owner() ? 1 : 0;
      await([&] { return mended == 1; });
      ASSERT_EQ(lock.lock(), lock_errc::acquired);
      lock.unlock();
    });
  }
  may_end = true;
  owner.join();
  line.join();
  EXPECT_EQ(told_so, 4);
  EXPECT_EQ(mended, 1);
  EXPECT_TRUE(is_free(lock));
}

/// There is room for 64 locks of dead threads; what is more ends by time-out.
TYPED_TEST(Ends, of_more_owners_than_are_remembered_end_by_time_out) {
  const limits_for<TypeParam> limits{short_limits()};
  std::vector<TypeParam> locks(66);
  for (std::size_t first = 0; first < locks.size(); first += 31) {
    std::thread{[&, first] {
      for (std::size_t i = first; i < std::min(first + 31, locks.size()); ++i) {
        ASSERT_TRUE(locks[i].lock());
      }
    }}.join();
  }
  for (std::size_t i = 0; i < locks.size(); ++i) {
    EXPECT_EQ(locks[i].lock(), i < 64 ? lock_errc::owner_dead : lock_errc::timed_out) << i;
  }
  for (std::size_t i = 0; i < locks.size(); ++i) {
    EXPECT_EQ(locks[i].release_dead_owner(), i < 64);
  }
}

/// Holds a lock longer than its thread has a table.
template <class Lock>
struct late_release {
  Lock* held = nullptr;
  Lock* used = nullptr;
  ~late_release() {
    if (held == nullptr) return;
    held->unlock();
    EXPECT_TRUE(used->lock());
    used->unlock();
  }
};

TYPED_TEST(Ends, of_a_thread_may_still_release_and_lock) {
  const reports told;
  TypeParam held, used;
  std::thread{[&] {
    thread_local late_release<TypeParam> last;
    last.held = &held;
    last.used = &used;
    ASSERT_TRUE(held.lock());
  }}.join();
  EXPECT_TRUE(is_free(held));
  EXPECT_TRUE(is_free(used));
  EXPECT_FALSE(held.release_dead_owner());
  EXPECT_EQ(told.count(lock_event::not_held), 0U);
  EXPECT_EQ(told.count(lock_event::owner_dead), 0U);
}

TYPED_TEST(Ends, of_threads_by_the_thousand_disturb_nobody_who_looks) {
  const limits_for<TypeParam> limits{patient};
  TypeParam first, second;
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> deadlocks{0};
  team others;
  for (int i = 0; i < 2; ++i) {
    others.start([&, i] {
      TypeParam& one = i == 0 ? first : second;
      TypeParam& other = i == 0 ? second : first;
      while (!is_over) {
        ASSERT_EQ(one.lock(), lock_errc::acquired);
        const lock_result how = other.lock();
        EXPECT_TRUE(how || how == lock_errc::deadlock);
        how ? other.unlock() : void(++deadlocks);
        one.unlock();
      }
    });
  }
  int unmended = 0;
  for (int i = 0; i < 1000 || deadlocks == 0; ++i) {
    TypeParam own;
    die_holding(own);
    unmended += own.release_dead_owner() ? 0 : 1;
  }
  is_over = true;
  others.join();
  EXPECT_EQ(unmended, 0);
}

TYPED_TEST(Ends, by_fork_leave_the_child_with_its_own_locks_and_dead_owners_of_others) {
  const limits_for<TypeParam> limits{patient};
  TypeParam theirs, own, wanted, fresh;
  ASSERT_TRUE(own.lock());
  ASSERT_TRUE(wanted.lock());
  std::atomic<bool> is_held{false};
  std::atomic<bool> may_end{false};
  team owner;
  owner.start([&] {
    ASSERT_TRUE(theirs.lock());
    is_held = true;
    EXPECT_TRUE(wanted.lock());  // only in the parent
    wanted.unlock();
    await([&] { return may_end.load(); });
    theirs.unlock();
  });
  await([&] { return is_held.load(); });
  await_waiters(wanted, 1);
  EXPECT_TRUE(forked_child_succeeds([&] {
    bool right = theirs.lock() == lock_errc::owner_dead && !wanted.release_dead_owner() &&
                 theirs.release_dead_owner() && !theirs.release_dead_owner();
    right = right && theirs.lock() && own.lock() == lock_errc::deadlock;
    theirs.unlock();
    own.unlock();
    right = right && own.try_lock() && fresh.lock() && fresh.lock() == lock_errc::deadlock;
    own.unlock();
    fresh.unlock();
    return right && own.try_lock() && theirs.try_lock() && fresh.try_lock();
  }));
  wanted.unlock();
  may_end = true;
  owner.join();
  own.unlock();
  EXPECT_TRUE(is_free(theirs) && is_free(own) && is_free(wanted));
}

template <class Lock>
class ForkBetweenSteps : public ::testing::Test {};
using told_forms = both_forms<directed_world>;
TYPED_TEST_SUITE(ForkBetweenSteps, told_forms, form_name);

/// It has come too late to be known as a waiter.
TYPED_TEST(ForkBetweenSteps, does_not_take_a_lock_from_the_child_that_another_thread_wants) {
  TypeParam lock;
  ASSERT_TRUE(lock.lock());
  actor other{[&] {
    EXPECT_TRUE(lock.lock());
    lock.unlock();
  }};
  other.arrive();
  EXPECT_EQ(waiters_of(lock), 0U);
  EXPECT_TRUE(forked_child_succeeds([&] { return !lock.release_dead_owner(); }));
  lock.unlock();
}

TYPED_TEST(ForkBetweenSteps, lets_a_dead_owners_lock_be_released_once) {
  TypeParam lock;
  std::atomic<bool> may_end{false};
  std::atomic<bool> is_held{false};
  team owner;
  owner.start([&] {
    ASSERT_TRUE(lock.lock());
    is_held = true;
    await([&] { return may_end.load(); });
    lock.unlock();
  });
  await([&] { return is_held.load(); });
  actor other{[&] {
    EXPECT_TRUE(lock.lock());
    lock.unlock();
  }};
  other.arrive();
  EXPECT_TRUE(forked_child_succeeds(
      [&] { return lock.release_dead_owner() && !lock.release_dead_owner(); }));
  may_end = true;
  owner.join();
}

/// Forks while another thread is before its n-th step of one kind, of a lock and unlock.
template <class Lock>
bool is_no_dead_owners_lock_before(step_kind kind, std::size_t bytes, int nth) {
  Lock lock;
  gate stopped;
  std::thread other{[&] {
    EXPECT_TRUE(lock.lock());  // opens the thread's table
    lock.unlock();
    const hooking hook{stopped.before(kind, bytes, nth)};
    EXPECT_TRUE(lock.lock());
    lock.unlock();
  }};
  stopped.await();
  const bool right = forked_child_succeeds([&] { return !lock.release_dead_owner(); });
  stopped.open();
  other.join();
  return right;
}

TYPED_TEST(ForkBetweenSteps, finds_no_dead_owner_of_a_lock_that_is_free) {
  EXPECT_TRUE(is_no_dead_owners_lock_before<TypeParam>(step_kind::compare_exchange, 4, 1));
  EXPECT_TRUE(is_no_dead_owners_lock_before<TypeParam>(step_kind::store, 8, 3));
}

/// A world with fewer tables than this process has threads.
struct small_world : native {
  static constexpr std::uint32_t slot_count = 6;
  static std::uint32_t thread_slot() noexcept {
    const std::uint32_t slot = native::thread_slot();
    return slot < slot_count ? slot : no_slot;
  }
};
/// A world with none.
struct slotless_world : native {
  static std::uint32_t thread_slot() noexcept { return no_slot; }
};

template <class Lock>
struct with_a_plain_lock : Lock {
  void lock() { EXPECT_EQ(Lock::lock(), lock_errc::acquired); }
};

template <class Lock>
class FewTables : public ::testing::Test {};
using in_small_worlds =
    ::testing::Types<basic_resilient_spinlock<small_world>, basic_resilient_mutex<small_world>,
                     basic_resilient_spinlock<slotless_world>,
                     basic_resilient_mutex<slotless_world>>;
TYPED_TEST_SUITE(FewTables, in_small_worlds);

TYPED_TEST(FewTables, keep_threads_without_one_from_nothing_but_being_seen) {
  const reports told;
  const limits_for<TypeParam> limits{patient};
  with_a_plain_lock<TypeParam> lock;
  std::atomic<int> has_slot{0};
  std::atomic<bool> may_end{false};
  team others;  // leave fewer slots than the threads that count
  for (int i = 0; i < 3; ++i) {
    others.start([&] {
      TypeParam own;
      EXPECT_TRUE(own.lock());
      own.unlock();
      ++has_slot;
      await([&] { return may_end.load(); });
    });
  }
  await([&] { return has_slot == 3; });
  EXPECT_TRUE(counts_exactly(lock, 12, 300));
  may_end = true;
  EXPECT_TRUE(is_free(lock));
  EXPECT_EQ(told.count(lock_event::not_held), 0U);
}

TYPED_TEST(FewTables, leave_a_thread_without_one_its_time_outs) {
  const limits_for<TypeParam> limits{short_limits()};
  std::array<TypeParam, 8> occupied;
  TypeParam lock;
  std::atomic<int> has_slot{0};
  std::atomic<bool> may_end{false};
  team others;
  for (auto& each : occupied) {
    others.start([&] {
      EXPECT_TRUE(each.lock());
      ++has_slot;
      await([&] { return may_end.load(); });
      each.unlock();
    });
  }
  await([&] { return has_slot == 8; });
  std::thread{[&] {
    const reports told;
    ASSERT_TRUE(lock.lock());
    EXPECT_EQ(told.count(lock_event::no_table), 1U);
    EXPECT_EQ(lock.lock(), lock_errc::timed_out);
    EXPECT_EQ(lock.try_lock_for(milliseconds{1}), lock_errc::timed_out);
    EXPECT_EQ(told.count(lock_event::no_table), 1U);
    lock.unlock();
  }}.join();
  may_end = true;
  others.join();
  EXPECT_TRUE(is_free(lock));
}

}  // namespace
}  // namespace lockyard::testing
