// SPDX-License-Identifier: Apache-2.0

// What the catalogue promises of every lock.

#include <lockyard/lockyard.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <type_traits>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"
#include "support/subjects.hpp"

namespace lockyard::testing {
namespace {

class EveryLock : public ::testing::TestWithParam<subject> {
 protected:
  std::unique_ptr<some_lock> made_ = GetParam().make();
  some_lock& lock_ = *made_;
};
INSTANTIATE_TEST_SUITE_P(Catalog, EveryLock, ::testing::ValuesIn(sound_subjects()), name_of);

TEST_P(EveryLock, refuses_try_lock_while_held_and_admits_it_when_free) {
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(EveryLock, leaves_nothing_behind_when_try_lock_fails) {
  lock_.lock();
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(EveryLock, excludes_two_threads) {
  EXPECT_TRUE(counts_exactly(lock_, 2, 20000));
}

TEST_P(EveryLock, is_held_beside_another_one_by_the_standard_guard) {
  const auto other = GetParam().make();
  { const std::scoped_lock both{lock_, *other}; }
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(EveryLock, is_recursive_exactly_if_its_traits_say_so) {
  lock_.lock();
  const bool again = lock_.try_lock();
  EXPECT_EQ(again, GetParam().traits.recursive);
  if (again) lock_.unlock();
  lock_.unlock();
}

/// The requirements on the types.
template <class Lock>
constexpr void satisfies_its_entry() {
  static_assert(lockable<Lock>);
  static_assert(timed_lockable<Lock> == traits_of<Lock>().timed);
  static_assert(shared_lockable<Lock> == traits_of<Lock>().shared);
}
template <class Lock>
void is_as_ours_are() {
  static constinit Lock lock;
  static_assert(noexcept(lock.lock()) != traits_of<Lock>().recovering);
  static_assert(noexcept(lock.try_lock()) && noexcept(lock.unlock()));
  static_assert(std::is_trivially_destructible_v<Lock>);
  static_assert(!std::is_copy_constructible_v<Lock> && !std::is_move_constructible_v<Lock>);
  static_assert(std::is_same_v<in_world_t<Lock, native>, Lock>, "written against a world");
}

TEST(Catalog, is_true_of_the_types) {
  for_each_lock([]<class Lock>(const catalog_entry<Lock>&) {
    if constexpr (is_sound<Lock>) satisfies_its_entry<Lock>();
    if constexpr (is_ours<Lock>) is_as_ours_are<Lock>();
  });
}

TEST(Catalog, gives_every_lock_its_own_names) {
  std::set<std::string_view> names;
  for_each_lock([&names](const auto& entry) {
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

TEST(ExclusionCheck, catches_a_lock_that_admits_everybody) {
  controls::broken_lock lock;
  EXPECT_FALSE(refuses_while_held(lock));
}

}  // namespace
}  // namespace lockyard::testing
