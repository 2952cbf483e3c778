// SPDX-License-Identifier: Apache-2.0

// The catalogue's claims about the other libraries' locks, if these libraries are installed, and
// about the variants of M. Skarupke's spinlock.

#include <gtest/gtest.h>
#include <peers/all.hpp>

#include <mutex>
#include <type_traits>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
struct built_peer
    : std::bool_constant<(traits_of<Lock>().kind == lock_kind::peer && peers::is_built<Lock>) ||
                         traits_of<Lock>().kind == lock_kind::variant> {};
using built_peers = detail::types<built_peer>;

template <class Lock>
class Peer : public ::testing::Test {};
TYPED_TEST_SUITE(Peer, built_peers, catalog_name);

TYPED_TEST(Peer, refuses_try_lock_while_held_and_admits_it_when_free) {
  TypeParam lock;
  EXPECT_TRUE(refuses_while_held(lock));
}

TYPED_TEST(Peer, excludes_other_threads) {
  constexpr auto traits = traits_of<TypeParam>();
  TypeParam lock;
  if constexpr (traits.waiting == waiting::spin && traits.fairness == fairness::fifo) {
    EXPECT_TRUE(counts_exactly_in_order(lock));
  } else {
    EXPECT_TRUE(counts_exactly(lock, 4, 2000));
  }
}

TYPED_TEST(Peer, is_recursive_exactly_if_its_traits_say_so) {
  TypeParam lock;
  lock.lock();
  const bool again = lock.try_lock();
  EXPECT_EQ(again, traits_of<TypeParam>().recursive);
  if (again) lock.unlock();
  EXPECT_FALSE(tried_elsewhere(lock));
  lock.unlock();
  EXPECT_TRUE(tried_elsewhere(lock));
}

/// Locks that keep their nodes with the thread have to find the right one.
TYPED_TEST(Peer, may_be_held_beside_others_and_released_in_any_order) {
  TypeParam first;
  TypeParam second;
  for (int round = 0; round < 20; ++round) {
    first.lock();
    const std::scoped_lock inner{second};
    first.unlock();
    EXPECT_TRUE(tried_elsewhere(first));
    EXPECT_FALSE(tried_elsewhere(second));
  }
  EXPECT_TRUE(tried_elsewhere(second));
}

TEST(Peers, name_each_library_that_may_be_missing_by_its_locks_origin) {
  for (const peers::library& each : peers::libraries) {
    bool named = false;
    for_each_lock(
        [&](const auto& entry) { named = named || peers::library_of(entry.traits) == &each; });
    EXPECT_TRUE(named) << each.name;
    EXPECT_NE(each.version.empty(), each.cause.empty()) << each.name;
    EXPECT_EQ(each.cause.empty(), each.remedy.empty()) << each.name;
  }
}

}  // namespace
}  // namespace lockyard::testing
