// SPDX-License-Identifier: Apache-2.0

// [thread.lock.unique]: std::unique_lock over the locks.

#include <mutex>
#include <system_error>
#include <utility>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadLockUnique : public ::testing::Test {
 protected:
  using guard = std::unique_lock<Lock>;
  std::function<void()> unlock = [this] { lock_.unlock(); };

  bool is_free() { return tried_elsewhere(lock_); }
  /// The guard stands for the lock, and owns it.
  void expect_owned_by(const guard& held) {
    EXPECT_TRUE(held.owns_lock() && held);
    EXPECT_EQ(held.mutex(), &lock_);
    EXPECT_FALSE(is_free());
  }

  Lock lock_;
};

template <class Lock>
class ThreadLockUniqueCons : public ThreadLockUnique<Lock> {};
template <class Lock>
class ThreadLockUniqueLocking : public ThreadLockUnique<Lock> {};
template <class Lock>
class ThreadLockUniqueMod : public ThreadLockUnique<Lock> {};
template <class Lock>
class ThreadLockUniqueTimed : public ThreadLockUnique<Lock> {};
TYPED_TEST_SUITE(ThreadLockUnique, our_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockUniqueCons, our_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockUniqueLocking, our_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockUniqueMod, our_locks, catalog_name);
TYPED_TEST_SUITE(ThreadLockUniqueTimed, our_timed_locks, catalog_name);

/// A guard of a lock is lockable, and timed if the lock is.
TYPED_TEST(ThreadLockUnique, p2_is_as_lockable_as_its_mutex) {
  using tested = typename TestFixture::guard;
  static_assert(lockable<tested>);
  static_assert(timed_lockable<tested> || !timed_lockable<TypeParam>);
}

TYPED_TEST(ThreadLockUniqueCons, p4_the_constructor_locks_and_owns) {
  {
    const std::unique_lock held{this->lock_};
    this->expect_owned_by(held);
  }
  EXPECT_TRUE(this->is_free());
}

TYPED_TEST(ThreadLockUniqueCons, p5_a_deferring_guard_does_not_own) {
  const std::unique_lock held{this->lock_, std::defer_lock};
  EXPECT_FALSE(held.owns_lock());
  EXPECT_EQ(held.mutex(), &this->lock_);
  EXPECT_TRUE(this->is_free());
}

TYPED_TEST(ThreadLockUniqueCons, p8_a_trying_guard_owns_if_try_lock_succeeded) {
  const std::unique_lock held{this->lock_, std::try_to_lock};
  this->expect_owned_by(held);
  EXPECT_FALSE(
      elsewhere([&] { return std::unique_lock{this->lock_, std::try_to_lock}.owns_lock(); }));
  EXPECT_FALSE(this->is_free()) << "the guard that failed released nothing";
}

TYPED_TEST(ThreadLockUniqueCons, p10_an_adopting_guard_owns_what_was_locked) {
  this->lock_.lock();
  {
    const std::unique_lock held{this->lock_, std::adopt_lock};
    this->expect_owned_by(held);
  }
  EXPECT_TRUE(this->is_free());
}

TYPED_TEST(ThreadLockUniqueCons, p18_a_moved_guard_hands_ownership_on) {
  std::unique_lock first{this->lock_};
  const std::unique_lock second{std::move(first)};
  this->expect_owned_by(second);
  EXPECT_FALSE(first.owns_lock());
  EXPECT_EQ(first.mutex(), nullptr);
}

TYPED_TEST(ThreadLockUniqueCons, p19_assignment_releases_what_was_owned_before) {
  TypeParam other;
  std::unique_lock held{other};
  held = std::unique_lock{this->lock_};
  this->expect_owned_by(held);
  EXPECT_TRUE(tried_elsewhere(other));
}

TYPED_TEST(ThreadLockUniqueCons, p23_the_destructor_unlocks_only_if_it_owns) {
  this->lock_.lock();
  { const std::unique_lock not_owning{this->lock_, std::defer_lock}; }
  EXPECT_FALSE(this->is_free());
  this->lock_.unlock();
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadLockUniqueLocking, p1_lock_waits_for_the_owner_as_the_mutex_does) {
  this->lock_.lock();
  std::unique_lock held{this->lock_, std::defer_lock};
  EXPECT_TRUE(waits_for(this->unlock, [&] { return held.lock(), true; }, [&] { held.unlock(); }));
  EXPECT_TRUE(this->is_free());
}

/// Wrong uses of a guard are errors, not undefined, and the mutex is left alone.
TYPED_TEST(ThreadLockUniqueLocking, p4_lock_reports_a_guard_that_owns_or_has_no_mutex) {
  typename TestFixture::guard held;
  const auto code_of = [&] {
    try {
      held.lock();
    } catch (const std::system_error& error) {
      return error.code();
    }
    return std::error_code{};
  };
  EXPECT_EQ(code_of(), std::errc::operation_not_permitted);
  held = std::unique_lock{this->lock_};
  EXPECT_EQ(code_of(), std::errc::resource_deadlock_would_occur);
  this->expect_owned_by(held);
}

TYPED_TEST(ThreadLockUniqueLocking, p8_try_lock_owns_if_it_succeeded) {
  std::unique_lock held{this->lock_, std::defer_lock};
  EXPECT_TRUE(held.try_lock());
  this->expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] {
    std::unique_lock refused{this->lock_, std::defer_lock};
    return refused.try_lock() || refused.owns_lock();
  }));
}

TYPED_TEST(ThreadLockUniqueLocking, p24_unlock_gives_ownership_up_and_the_guard_locks_again) {
  std::unique_lock held{this->lock_};
  held.unlock();
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(this->is_free());
  EXPECT_THROW(held.unlock(), std::system_error);
  held.lock();
  this->expect_owned_by(held);
}

TYPED_TEST(ThreadLockUniqueMod, p1_swap_exchanges_what_two_guards_own) {
  std::unique_lock held{this->lock_};
  typename TestFixture::guard empty;
  held.swap(empty);
  this->expect_owned_by(empty);
  EXPECT_EQ(held.mutex(), nullptr);
}

TYPED_TEST(ThreadLockUniqueMod, p3_release_leaves_the_mutex_locked) {
  std::unique_lock held{this->lock_};
  EXPECT_EQ(held.release(), &this->lock_);
  EXPECT_FALSE(held.owns_lock());
  EXPECT_FALSE(this->is_free());
  this->lock_.unlock();
  EXPECT_TRUE(this->is_free());
}

TYPED_TEST(ThreadLockUniqueTimed, cons_p14_a_guard_with_a_limit_owns_if_it_was_in_time) {
  const std::unique_lock held{this->lock_, steady::now() + never};
  this->expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] {
    const auto limit = steady::now() + 1ms;
    const std::unique_lock late{this->lock_, limit};
    return late.owns_lock() || steady::now() < limit;
  }));
}

TYPED_TEST(ThreadLockUniqueTimed, cons_p17_a_guard_with_a_duration_owns_if_it_was_in_time) {
  const std::unique_lock held{this->lock_, never};
  this->expect_owned_by(held);
  EXPECT_FALSE(elsewhere([&] {
    const auto start = steady::now();
    const std::unique_lock late{this->lock_, 1ms};
    return late.owns_lock() || steady::now() - start < 1ms;
  }));
}

TYPED_TEST(ThreadLockUniqueTimed, locking_p14_try_lock_until_owns_if_it_was_in_time) {
  this->lock_.lock();
  std::unique_lock held{this->lock_, std::defer_lock};
  EXPECT_FALSE(elsewhere([&] { return held.try_lock_until(steady::now() + 100us); }));
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(waits_for(
      this->unlock, [&] { return held.try_lock_until(steady::now() + never) && held.owns_lock(); },
      [&] { held.unlock(); }));
}

TYPED_TEST(ThreadLockUniqueTimed, locking_p20_try_lock_for_owns_if_it_was_in_time) {
  this->lock_.lock();
  std::unique_lock held{this->lock_, std::defer_lock};
  EXPECT_FALSE(elsewhere([&] { return held.try_lock_for(100us); }));
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(waits_for(
      this->unlock, [&] { return held.try_lock_for(never) && held.owns_lock(); },
      [&] { held.unlock(); }));
}

}  // namespace
}  // namespace lockyard::testing
