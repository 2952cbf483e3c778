// SPDX-License-Identifier: Apache-2.0
#include <sleepers.hpp>

#include <lockyard/park/futex_mutex.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace lockyard::harness {
namespace {

/// One in so many addresses has the bucket of another one; 0: none has.
template <std::uintptr_t Buckets>
class table_mutex : public futex_mutex {
 public:
  void lock() noexcept {
    used.insert(this);
    futex_mutex::lock();
  }
  friend bool share_bucket(const table_mutex& lock, const table_mutex& other) noexcept {
    if constexpr (Buckets == 0) return false;
    return bucket(lock) == bucket(other);
  }
  /// By the starter, then by one sleeper that finds itself in it already.
  static inline std::set<const table_mutex*> used;

 private:
  static std::uintptr_t bucket(const table_mutex& lock) noexcept {
    return reinterpret_cast<std::uintptr_t>(&lock) / lock_spacing % (Buckets + 1);
  }
};

constexpr lock_traits traits{};

TEST(Sleepers, sleep_on_locks_of_one_bucket_where_the_lock_knows_buckets) {
  using mutex = table_mutex<100>;
  mutex beside;
  const sleepers others{{traits, operations_on<mutex>}, &beside, 1};
  EXPECT_TRUE(others.are_asleep());
  EXPECT_TRUE(others.share_bucket());
  ASSERT_EQ(mutex::used.size(), 1U);
  EXPECT_TRUE(share_bucket(**mutex::used.begin(), beside));
}

TEST(Sleepers, sleep_on_any_lock_where_it_knows_none) {
  futex_mutex beside;
  const sleepers others{{traits, operations_on<futex_mutex>}, &beside, 3};
  EXPECT_TRUE(others.are_asleep());
  EXPECT_FALSE(others.share_bucket());
  EXPECT_TRUE(beside.try_lock());
  beside.unlock();
}

TEST(Sleepers, are_not_asleep_where_no_lock_shares_the_bucket) {
  using mutex = table_mutex<0>;
  mutex beside;
  const sleepers others{{traits, operations_on<mutex>}, &beside, 2};
  EXPECT_FALSE(others.are_asleep());
  EXPECT_TRUE(mutex::used.empty());
}

}  // namespace
}  // namespace lockyard::harness
