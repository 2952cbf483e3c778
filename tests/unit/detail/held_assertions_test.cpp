// SPDX-License-Identifier: Apache-2.0

// What locks assert about the calling thread in the native world. The debug mode has tests of its
// own.

#include <lockyard/catalog.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/lockyard.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>

#include "support/catalog_types.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
struct ours : std::bool_constant<is_ours<Lock>> {};

template <class Lock>
class Asserting : public ::testing::Test {};
using our_locks = detail::types<ours>;
TYPED_TEST_SUITE(Asserting, our_locks, catalog_name);

TYPED_TEST(Asserting, accepts_what_is_true) {
  TypeParam lock;
  lock.assert_not_held();
  lock.lock();
  lock.assert_held();
  if constexpr (shared_lockable<TypeParam>) lock.assert_held_shared();
  std::thread{[&] { lock.assert_not_held(); }}.join();
  lock.unlock();
  lock.assert_not_held();
  if constexpr (shared_lockable<TypeParam>) {
    lock.lock_shared();
    lock.assert_held_shared();
    lock.unlock_shared();
  }
  static_assert(noexcept(lock.assert_held()) && noexcept(lock.assert_not_held()));
}

/// The base class of all locks.
struct bare : lockyard::detail::held_assertions<bare, native> {};
struct with_byte : lockyard::detail::held_assertions<with_byte, native> {
  char byte;
};
static_assert(std::is_empty_v<bare> && sizeof(with_byte) == 1);
static_assert(sizeof(mutex) == 1 && sizeof(futex_mutex) == 4 && sizeof(fair_mutex) == 8);
static_assert(sizeof(recursive_mutex<>) == 16 && sizeof(shared_mutex) == 4);
static_assert(sizeof(ticket_spinlock) == 8 && sizeof(queued_spinlock) == 4);
static_assert(sizeof(mcs_spinlock) == 16 && sizeof(cna_spinlock) == 32);
static_assert(sizeof(resilient_spinlock) == 16 && sizeof(resilient_mutex) == 16);

constexpr const char* not_held =
    "assert_held\\(\\) of a lock that the calling thread does not hold";
constexpr const char* held = "assert_not_held\\(\\) of a lock that the calling thread holds";

/// Locks that know their owner look without the debug mode too.
template <class Lock>
class Knowing : public ::testing::Test {};
using knowing_locks = ::testing::Types<recursive_mutex<>, recursive_mutex<ticket_spinlock>,
                                       throwing<resilient_spinlock>, throwing<resilient_mutex>>;
TYPED_TEST_SUITE(Knowing, knowing_locks);

TYPED_TEST(Knowing, ends_the_process_when_it_is_asserted_to_be_held_and_is_not) {
  TypeParam lock;
  EXPECT_DEATH(lock.assert_held(), not_held);
  lock.lock();
  std::thread{[&] { EXPECT_DEATH(lock.assert_held(), not_held); }}.join();
  lock.unlock();
  EXPECT_DEATH(lock.assert_held(), not_held);
}

TYPED_TEST(Knowing, ends_the_process_when_it_is_asserted_not_to_be_held_and_is) {
  TypeParam lock;
  lock.lock();
  EXPECT_DEATH(lock.assert_not_held(), held);
  lock.unlock();
}

/// Thirty-one locks have entries in a thread's table.
TEST(ResilientLock, accepts_either_where_the_table_of_the_thread_is_full) {
  resilient_mutex locks[40], free;
  for (auto& each : locks) ASSERT_TRUE(each.lock());
  for (auto& each : locks) each.assert_held();
  free.assert_held();
  free.assert_not_held();
  for (auto& each : locks) each.unlock();
  EXPECT_DEATH(locks[39].assert_held(), not_held);
}

}  // namespace
}  // namespace lockyard::testing
