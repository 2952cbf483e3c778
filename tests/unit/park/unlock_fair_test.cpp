// SPDX-License-Identifier: Apache-2.0
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace lockyard::testing {
namespace {

using kind = lockyard::detail::waiter_kind;

/// Which queue the threads that wait for a lock sleep in.
template <class Lock>
constexpr kind sleepers_of = kind::mutex;
template <>
constexpr kind sleepers_of<byte_mutex> = kind::byte_mutex;
template <>
constexpr kind sleepers_of<shared_mutex> = kind::shared_write;

template <class Lock>
class UnlockFair : public ::testing::Test {
 protected:
  static bool has_sleeper(const Lock& lock) {
    auto& home = lockyard::detail::parking_lot<native>::bucket_of(&lock);
    home.bucket_lock().lock();
    const bool found = home.first(&lock, sleepers_of<Lock>) != nullptr;
    home.bucket_lock().unlock();
    return found;
  }
};
using locks =
    ::testing::Types<mutex, basic_mutex<native, release_fence::full>, byte_mutex, shared_mutex>;
TYPED_TEST_SUITE(UnlockFair, locks);

TYPED_TEST(UnlockFair, hands_the_lock_to_a_thread_that_sleeps_for_it) {
  TypeParam lock;
  std::atomic<bool> may_release{false};
  lock.lock();
  std::thread sleeper{[&] {
    lock.lock();
    may_release.wait(false);
    lock.unlock();
  }};
  while (!this->has_sleeper(lock)) std::this_thread::yield();
  lock.unlock_fair();
  EXPECT_FALSE(lock.try_lock()) << "the lock was free for newcomers";
  may_release = true;
  may_release.notify_one();
  sleeper.join();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TYPED_TEST(UnlockFair, frees_a_lock_for_which_no_thread_sleeps) {
  TypeParam lock;
  lock.lock();
  lock.unlock_fair();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock_fair();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace lockyard::testing
