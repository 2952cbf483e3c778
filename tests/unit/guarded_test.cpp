// SPDX-License-Identifier: Apache-2.0
#include <lockyard/guarded.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/spin/yielding_spinlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;
using numbers = guarded<std::pair<int, int>, futex_mutex>;

template <class Data>
bool is_free(Data& data) {
  bool admitted = false;
  std::thread{[&] { admitted = static_cast<bool>(data.try_lock()); }}.join();
  return admitted;
}

TEST(Guarded, holds_the_lock_while_the_data_can_be_reached) {
  numbers data;
  {
    const auto held = data.lock();
    held->first = 3;
    EXPECT_FALSE(is_free(data));
  }
  EXPECT_TRUE(is_free(data));
  const auto held = std::as_const(data).lock();
  EXPECT_EQ((*held).first, 3);
}

TEST(Guarded, says_whether_try_lock_acquired) {
  numbers data;
  auto held = data.try_lock();
  ASSERT_TRUE(held);
  std::thread{[&] { EXPECT_FALSE(std::as_const(data).try_lock()); }}.join();
}

TEST(Guarded, moves_the_hold_with_its_holder) {
  numbers data;
  auto first = data.lock();
  const auto second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  EXPECT_FALSE(is_free(data));
}

#ifndef NDEBUG
TEST(GuardedDeathTest, ends_the_process_where_data_are_used_without_the_lock) {
  numbers data;
  auto first = data.lock();
  const auto second = std::move(first);
  EXPECT_DEATH(first->first = 1, "owns_lock");
  EXPECT_DEATH(static_cast<void>(*first), "owns_lock");
}
#endif

TEST(Guarded, holds_the_lock_during_with_and_hands_out_copies) {
  guarded<std::string, yielding_spinlock> name{"lock"};
  const auto size = name.with([&](std::string& value) {
    EXPECT_FALSE(is_free(name));
    value += "yard";
    return value.size();
  });
  EXPECT_TRUE(is_free(name));
  EXPECT_EQ(size, 8U);
  const auto itself = [](const std::string& value) -> const std::string& { return value; };
  static_assert(std::is_same_v<decltype(std::as_const(name).with(itself)), std::string>);
}

template <class Data>
concept waits_with_limit = requires(Data& data) { data.try_lock_for(0ms); };

TEST(Guarded, waits_as_long_as_it_is_told_where_the_lock_can) {
  guarded<int, std::timed_mutex> data{1};
  const auto held = data.lock();
  std::thread{[&] {
    EXPECT_FALSE(data.try_lock_for(0ms));
    EXPECT_FALSE(std::as_const(data).try_lock_until(std::chrono::steady_clock::now()));
  }}.join();
  static_assert(waits_with_limit<guarded<int, std::timed_mutex>>);
  static_assert(!waits_with_limit<guarded<int, yielding_spinlock>>);
}

TEST(Guarded, makes_data_in_place_and_at_compile_time) {
  static constinit guarded<int, yielding_spinlock> counter{7};
  EXPECT_EQ(counter.with([](int value) { return value; }), 7);
  guarded<futex_mutex, yielding_spinlock> immovable{std::in_place};
  EXPECT_TRUE(immovable.with([](futex_mutex& inner) { return inner.try_lock(); }));
  static_assert(sizeof(guarded<char, yielding_spinlock>) == 2);
}

template <class Data>
concept hands_out_from_a_temporary = requires(Data&& data) { std::move(data).lock(); } ||
                                     requires(Data&& data) { std::move(data).try_lock(); } ||
                                     requires(Data&& data) { std::move(data).try_lock_for(0ms); };
template <class Data>
concept hands_out_from_a_passing_hold =
    requires(Data& data) { *data.lock(); } || requires(Data& data) { data.lock()->first; };

TEST(Guarded, leaves_no_way_to_keep_a_reference_past_the_lock) {
  static_assert(!hands_out_from_a_temporary<numbers>);
  static_assert(!hands_out_from_a_temporary<guarded<int, std::timed_mutex>>);
  static_assert(!hands_out_from_a_passing_hold<numbers>);
  static_assert(std::is_same_v<decltype(std::declval<const numbers&>().lock()),
                               access<const std::pair<int, int>, futex_mutex>>);
  static_assert(!std::is_copy_constructible_v<numbers> && !std::is_move_constructible_v<numbers>);
}

}  // namespace
}  // namespace lockyard::testing
