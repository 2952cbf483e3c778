// SPDX-License-Identifier: Apache-2.0

// [thread.lock.unique]: std::unique_lock over the locks.

#include <mutex>
#include <system_error>
#include <utility>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

class unique_lock_test : public ::testing::TestWithParam<subject> {
 protected:
  using guard = std::unique_lock<any_lock>;
  std::function<void()> unlock = [this] { lock_.unlock(); };

  bool is_free() { return tried_elsewhere(lock_); }
  /// The guard stands for the lock, and owns it.
  void expect_owned_by(const guard& held) {
    EXPECT_TRUE(held.owns_lock() && held);
    EXPECT_EQ(held.mutex(), &lock_);
    EXPECT_FALSE(is_free());
  }

  any_lock lock_;
};

class ThreadLockUniqueCons : public unique_lock_test {};
class ThreadLockUniqueLocking : public unique_lock_test {};
class ThreadLockUniqueMod : public unique_lock_test {};
class ThreadLockUniqueTimed : public unique_lock_test {};
INSTANTIATE_TEST_SUITE_P(, ThreadLockUniqueCons, ::testing::ValuesIn(our_subjects()), name_of);
INSTANTIATE_TEST_SUITE_P(, ThreadLockUniqueLocking, ::testing::ValuesIn(our_subjects()), name_of);
INSTANTIATE_TEST_SUITE_P(, ThreadLockUniqueMod, ::testing::ValuesIn(our_subjects()), name_of);
INSTANTIATE_TEST_SUITE_P(, ThreadLockUniqueTimed, ::testing::ValuesIn(our_timed_subjects()),
                         name_of);

/// A guard of a lock is lockable, and timed if the lock is.
TEST(ThreadLockUnique, p2_is_as_lockable_as_its_mutex) {
  for_each_of_ours([]<class Lock>() {
    static_assert(lockable<std::unique_lock<Lock>>);
    static_assert(timed_lockable<std::unique_lock<Lock>> || !timed_lockable<Lock>);
  });
}

TEST_P(ThreadLockUniqueCons, p4_the_constructor_locks_and_owns) {
  {
    const std::unique_lock held{lock_};
    expect_owned_by(held);
  }
  EXPECT_TRUE(is_free());
}

TEST_P(ThreadLockUniqueCons, p5_a_deferring_guard_does_not_own) {
  const std::unique_lock held{lock_, std::defer_lock};
  EXPECT_FALSE(held.owns_lock());
  EXPECT_EQ(held.mutex(), &lock_);
  EXPECT_TRUE(is_free());
}

TEST_P(ThreadLockUniqueCons, p8_a_trying_guard_owns_if_try_lock_succeeded) {
  const std::unique_lock held{lock_, std::try_to_lock};
  expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] { return std::unique_lock{lock_, std::try_to_lock}.owns_lock(); }));
  EXPECT_FALSE(is_free()) << "the guard that failed released nothing";
}

TEST_P(ThreadLockUniqueCons, p10_an_adopting_guard_owns_what_was_locked) {
  lock_.lock();
  {
    const std::unique_lock held{lock_, std::adopt_lock};
    expect_owned_by(held);
  }
  EXPECT_TRUE(is_free());
}

TEST_P(ThreadLockUniqueCons, p18_a_moved_guard_hands_ownership_on) {
  std::unique_lock first{lock_};
  const std::unique_lock second{std::move(first)};
  expect_owned_by(second);
  EXPECT_FALSE(first.owns_lock());
  EXPECT_EQ(first.mutex(), nullptr);
}

TEST_P(ThreadLockUniqueCons, p19_assignment_releases_what_was_owned_before) {
  any_lock other;
  std::unique_lock held{other};
  held = std::unique_lock{lock_};
  expect_owned_by(held);
  EXPECT_TRUE(tried_elsewhere(other));
}

TEST_P(ThreadLockUniqueCons, p23_the_destructor_unlocks_only_if_it_owns) {
  lock_.lock();
  { const std::unique_lock not_owning{lock_, std::defer_lock}; }
  EXPECT_FALSE(is_free());
  lock_.unlock();
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(ThreadLockUniqueLocking, p1_lock_waits_for_the_owner_as_the_mutex_does) {
  lock_.lock();
  std::unique_lock held{lock_, std::defer_lock};
  EXPECT_TRUE(waits_for(unlock, [&] { return held.lock(), true; }, [&] { held.unlock(); }));
  EXPECT_TRUE(is_free());
}

/// Wrong uses of a guard are errors, not undefined, and the mutex is left alone.
TEST_P(ThreadLockUniqueLocking, p4_lock_reports_a_guard_that_owns_or_has_no_mutex) {
  guard held;
  const auto code_of = [&] {
    try {
      held.lock();
    } catch (const std::system_error& error) {
      return error.code();
    }
    return std::error_code{};
  };
  EXPECT_EQ(code_of(), std::errc::operation_not_permitted);
  held = std::unique_lock{lock_};
  EXPECT_EQ(code_of(), std::errc::resource_deadlock_would_occur);
  expect_owned_by(held);
}

TEST_P(ThreadLockUniqueLocking, p8_try_lock_owns_if_it_succeeded) {
  std::unique_lock held{lock_, std::defer_lock};
  EXPECT_TRUE(held.try_lock());
  expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] {
    std::unique_lock refused{lock_, std::defer_lock};
    return refused.try_lock() || refused.owns_lock();
  }));
}

TEST_P(ThreadLockUniqueLocking, p24_unlock_gives_ownership_up_and_the_guard_locks_again) {
  std::unique_lock held{lock_};
  held.unlock();
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(is_free());
  EXPECT_THROW(held.unlock(), std::system_error);
  held.lock();
  expect_owned_by(held);
}

TEST_P(ThreadLockUniqueMod, p1_swap_exchanges_what_two_guards_own) {
  std::unique_lock held{lock_};
  guard empty;
  held.swap(empty);
  expect_owned_by(empty);
  EXPECT_EQ(held.mutex(), nullptr);
}

TEST_P(ThreadLockUniqueMod, p3_release_leaves_the_mutex_locked) {
  std::unique_lock held{lock_};
  EXPECT_EQ(held.release(), &lock_);
  EXPECT_FALSE(held.owns_lock());
  EXPECT_FALSE(is_free());
  lock_.unlock();
  EXPECT_TRUE(is_free());
}

TEST_P(ThreadLockUniqueTimed, cons_p14_a_guard_with_a_limit_owns_if_it_was_in_time) {
  const std::unique_lock held{lock_, steady::now() + never};
  expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] {
    const auto limit = steady::now() + 1ms;
    const std::unique_lock late{lock_, limit};
    return late.owns_lock() || steady::now() < limit;
  }));
}

TEST_P(ThreadLockUniqueTimed, cons_p17_a_guard_with_a_duration_owns_if_it_was_in_time) {
  const std::unique_lock held{lock_, never};
  expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] {
    const auto start = steady::now();
    const std::unique_lock late{lock_, 1ms};
    return late.owns_lock() || steady::now() - start < 1ms;
  }));
}

TEST_P(ThreadLockUniqueTimed, locking_p14_try_lock_until_owns_if_it_was_in_time) {
  lock_.lock();
  std::unique_lock held{lock_, std::defer_lock};
  EXPECT_FALSE(elsewhere([&] { return held.try_lock_until(steady::now() + 100us); }));
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(waits_for(
      unlock, [&] { return held.try_lock_until(steady::now() + never) && held.owns_lock(); },
      [&] { held.unlock(); }));
}

TEST_P(ThreadLockUniqueTimed, locking_p20_try_lock_for_owns_if_it_was_in_time) {
  lock_.lock();
  std::unique_lock held{lock_, std::defer_lock};
  EXPECT_FALSE(elsewhere([&] { return held.try_lock_for(100us); }));
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(waits_for(
      unlock, [&] { return held.try_lock_for(never) && held.owns_lock(); },
      [&] { held.unlock(); }));
}

}  // namespace
}  // namespace lockyard::testing
