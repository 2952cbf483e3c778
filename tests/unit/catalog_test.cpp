// SPDX-License-Identifier: Apache-2.0

// What the catalogue promises of every lock.

#include <lockyard/lockyard.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <type_traits>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class EveryLock : public ::testing::Test {};
TYPED_TEST_SUITE(EveryLock, sound_locks, catalog_name);

TYPED_TEST(EveryLock, refuses_try_lock_while_held_and_admits_it_when_free) {
  TypeParam lock;
  EXPECT_TRUE(refuses_while_held(lock));
}

TYPED_TEST(EveryLock, leaves_nothing_behind_when_try_lock_fails) {
  TypeParam lock;
  lock.lock();
  std::thread{[&] { EXPECT_FALSE(lock.try_lock()); }}.join();
  lock.unlock();
  EXPECT_TRUE(refuses_while_held(lock));
}

TYPED_TEST(EveryLock, excludes_two_threads) {
  EXPECT_TRUE(counts_exactly<TypeParam>(2, 20000));
}

TYPED_TEST(EveryLock, is_lockable_for_the_standard_guards) {
  static_assert(lockable<TypeParam>);
  TypeParam first;
  TypeParam second;
  const std::scoped_lock both{first, second};
}

TYPED_TEST(EveryLock, is_recursive_exactly_if_its_traits_say_so) {
  TypeParam lock;
  lock.lock();
  const bool again = lock.try_lock();
  EXPECT_EQ(again, traits_of<TypeParam>().recursive);
  if (again) lock.unlock();
  lock.unlock();
}

TYPED_TEST(EveryLock, is_timed_exactly_if_its_traits_say_so) {
  static_assert(timed_lockable<TypeParam> == traits_of<TypeParam>().timed);
}

template <class Lock>
class OurLock : public ::testing::Test {};
TYPED_TEST_SUITE(OurLock, our_locks, catalog_name);

TYPED_TEST(OurLock, is_constant_initialised_and_trivially_destructible) {
  static constinit TypeParam lock;
  const std::scoped_lock guard{lock};
  static_assert(std::is_trivially_destructible_v<TypeParam>);
  static_assert(!std::is_copy_constructible_v<TypeParam> &&
                !std::is_move_constructible_v<TypeParam>);
}

TYPED_TEST(OurLock, never_throws) {
  TypeParam lock;
  static_assert(noexcept(lock.lock()) && noexcept(lock.try_lock()) && noexcept(lock.unlock()));
}

TYPED_TEST(OurLock, is_written_against_a_world) {
  static_assert(std::is_same_v<in_world_t<TypeParam, native>, TypeParam>);
}

TEST(Catalog, gives_every_lock_its_own_names) {
  std::set<std::string_view> names;
  for_each_entry([&names](const auto& entry) {
    EXPECT_TRUE(names.insert(entry.traits.name).second) << entry.traits.name;
    const auto seed = entry.traits.seed_name;
    if (!seed.empty() && seed != entry.traits.name) {
      EXPECT_TRUE(names.insert(seed).second) << seed;
    }
  });
}

TEST(Catalog, knows_the_locks_of_the_text_by_their_seed_names) {
  EXPECT_EQ(traits_of<tas_spinlock>().seed_name, "terrible_spinlock");
  EXPECT_EQ(traits_of<ttas_spinlock>().seed_name, "spinlock_amd");
  EXPECT_EQ(traits_of<yielding_spinlock>().seed_name, "spinlock");
  EXPECT_EQ(traits_of<ticket_spinlock>().seed_name, "ticket_spinlock");
  EXPECT_EQ(traits_of<ticket_mutex>().seed_name, "ticket_mutex");
  EXPECT_EQ(traits_of<single_spinner_mutex>().seed_name, "spin_to_futex_mutex");
  EXPECT_EQ(traits_of<peers::std_mutex>().seed_name, "std::mutex");
}

TEST(Catalog, states_the_sizes_that_the_documentation_promises) {
  static_assert(sizeof(tas_spinlock) == 1 && sizeof(ttas_spinlock) == 1);
  static_assert(sizeof(yielding_spinlock) == 1 && sizeof(backoff_spinlock) == 1);
  static_assert(sizeof(ticket_spinlock) == 8);
  static_assert(sizeof(array_spinlock) == 9 * lockyard::detail::arch::interference_size);
  static_assert(sizeof(mcs_spinlock) == 16 && sizeof(clh_spinlock) == 16);
  static_assert(sizeof(queued_spinlock) == 4);
  static_assert(sizeof(futex_mutex) == 4);
  static_assert(sizeof(adaptive_mutex) == 8 && sizeof(single_spinner_mutex) == 4);
  static_assert(sizeof(ticket_mutex) == 8 && sizeof(pi_mutex) == 4);
  static_assert(sizeof(fair_mutex) == 8 && sizeof(byte_mutex) == 1);
}

TEST(ExclusionCheck, catches_a_lock_that_admits_everybody) {
  controls::broken_lock lock;
  EXPECT_FALSE(refuses_while_held(lock));
}

}  // namespace
}  // namespace lockyard::testing
