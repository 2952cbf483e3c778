// SPDX-License-Identifier: Apache-2.0

// [thread.lock.shared]: std::shared_lock over the locks that can be shared.

#include <shared_mutex>
#include <system_error>
#include <utility>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadLockShared : public ::testing::Test {
 protected:
  using guard = std::shared_lock<Lock>;
  std::function<void()> unlock = [this] { lock_.unlock(); };

  /// The guard stands for the lock, and shares it.
  void expect_shared_by(const guard& held) {
    EXPECT_TRUE(held.owns_lock() && held);
    EXPECT_EQ(held.mutex(), &lock_);
    EXPECT_FALSE(tried_elsewhere(lock_));
    EXPECT_TRUE(elsewhere([&] { return guard{lock_, std::try_to_lock}.owns_lock(); }));
  }

  Lock lock_;
};
template <class Lock>
class ThreadLockSharedCons : public ThreadLockShared<Lock> {};
template <class Lock>
class ThreadLockSharedLocking : public ThreadLockShared<Lock> {};
template <class Lock>
class ThreadLockSharedMod : public ThreadLockShared<Lock> {};
template <class Lock>
class ThreadLockSharedTimed : public ThreadLockShared<Lock> {};
TYPED_TEST_SUITE(ThreadLockShared, our_shared_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockSharedCons, our_shared_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockSharedLocking, our_shared_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockSharedMod, our_shared_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockSharedTimed, our_shared_timed_locks, catalog_name);

TYPED_TEST(ThreadLockShared, p2_is_timed_lockable_if_its_mutex_is) {
  using tested = typename TestFixture::guard;
  static_assert(lockable<tested>);
  static_assert(timed_lockable<tested> || !shared_timed_lockable<TypeParam>);
}

TYPED_TEST(ThreadLockSharedCons, p4_the_constructor_locks_shared_and_owns) {
  {
    const std::shared_lock held{this->lock_};
    this->expect_shared_by(held);
  }
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedCons, p5_a_deferring_guard_does_not_own) {
  const std::shared_lock held{this->lock_, std::defer_lock};
  EXPECT_FALSE(held.owns_lock());
  EXPECT_EQ(held.mutex(), &this->lock_);
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedCons, p8_a_trying_guard_owns_if_try_lock_shared_succeeded) {
  {
    const std::shared_lock held{this->lock_, std::try_to_lock};
    this->expect_shared_by(held);
  }
  this->lock_.lock();
  EXPECT_FALSE(
      elsewhere([&] { return std::shared_lock{this->lock_, std::try_to_lock}.owns_lock(); }));
  EXPECT_FALSE(tried_elsewhere(this->lock_)) << "the guard that failed released nothing";
  this->lock_.unlock();
}

TYPED_TEST(ThreadLockSharedCons, p10_an_adopting_guard_owns_what_was_shared) {
  this->lock_.lock_shared();
  {
    const std::shared_lock held{this->lock_, std::adopt_lock};
    this->expect_shared_by(held);
  }
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedCons, p17_the_destructor_releases_its_own_share_alone) {
  flag may_leave;
  flag is_inside;
  std::jthread reader{[&] {
    const std::shared_lock held{this->lock_};
    is_inside.raise();
    may_leave.await();
  }};
  is_inside.await();
  { const std::shared_lock held{this->lock_}; }
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  may_leave.raise();
  reader.join();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedCons, p18_a_moved_guard_hands_ownership_on) {
  std::shared_lock first{this->lock_};
  const std::shared_lock second{std::move(first)};
  this->expect_shared_by(second);
  EXPECT_EQ(first.mutex(), nullptr);
}

TYPED_TEST(ThreadLockSharedCons, p19_assignment_releases_what_was_shared_before) {
  TypeParam other;
  std::shared_lock held{other};
  held = std::shared_lock{this->lock_};
  this->expect_shared_by(held);
  EXPECT_TRUE(tried_elsewhere(other));
}

TYPED_TEST(ThreadLockSharedLocking, p1_lock_waits_for_the_exclusive_owner) {
  this->lock_.lock();
  std::shared_lock held{this->lock_, std::defer_lock};
  EXPECT_TRUE(waits_for(this->unlock, [&] { return held.lock(), true; }, [&] { held.unlock(); }));
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedLocking, p4_lock_reports_a_guard_that_owns_or_has_no_mutex) {
  typename TestFixture::guard held;
  EXPECT_THROW(held.lock(), std::system_error);
  held = std::shared_lock{this->lock_};
  EXPECT_THROW(held.lock(), std::system_error);
  this->expect_shared_by(held);
}

TYPED_TEST(ThreadLockSharedLocking, p7_try_lock_owns_if_it_succeeded) {
  std::shared_lock held{this->lock_, std::defer_lock};
  EXPECT_TRUE(held.try_lock());
  this->expect_shared_by(held);
}

TYPED_TEST(ThreadLockSharedLocking, p21_unlock_gives_the_share_up) {
  std::shared_lock held{this->lock_};
  held.unlock();
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedMod, p1_swap_exchanges_what_two_guards_share) {
  std::shared_lock held{this->lock_};
  typename TestFixture::guard empty;
  swap(held, empty);
  this->expect_shared_by(empty);
  EXPECT_EQ(held.mutex(), nullptr);
}

TYPED_TEST(ThreadLockSharedMod, p3_release_leaves_the_mutex_shared) {
  std::shared_lock held{this->lock_};
  EXPECT_EQ(held.release(), &this->lock_);
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock_shared();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadLockSharedTimed, cons_p13_a_guard_with_a_limit_owns_if_it_was_in_time) {
  {
    const std::shared_lock held{this->lock_, steady::now() + never};
    this->expect_shared_by(held);
  }
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] {
    const auto limit = steady::now() + 1ms;
    return std::shared_lock{this->lock_, limit}.owns_lock() || steady::now() < limit;
  }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadLockSharedTimed, cons_p16_a_guard_with_a_duration_owns_if_it_was_in_time) {
  {
    const std::shared_lock held{this->lock_, never};
    this->expect_shared_by(held);
  }
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] {
    const auto start = steady::now();
    return std::shared_lock{this->lock_, 1ms}.owns_lock() || steady::now() - start < 1ms;
  }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadLockSharedTimed, locking_p12_try_lock_until_owns_if_it_was_in_time) {
  this->lock_.lock();
  std::shared_lock held{this->lock_, std::defer_lock};
  EXPECT_FALSE(elsewhere([&] { return held.try_lock_until(steady::now() + 100us); }));
  EXPECT_TRUE(waits_for(
      this->unlock, [&] { return held.try_lock_until(steady::now() + never) && held.owns_lock(); },
      [&] { held.unlock(); }));
}

TYPED_TEST(ThreadLockSharedTimed, locking_p17_try_lock_for_owns_if_it_was_in_time) {
  this->lock_.lock();
  std::shared_lock held{this->lock_, std::defer_lock};
  EXPECT_FALSE(elsewhere([&] { return held.try_lock_for(100us); }));
  EXPECT_TRUE(waits_for(
      this->unlock, [&] { return held.try_lock_for(never) && held.owns_lock(); },
      [&] { held.unlock(); }));
}

}  // namespace
}  // namespace lockyard::testing
