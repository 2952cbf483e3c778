// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/owner_aware_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

static_assert(sizeof(owner_aware_mutex) == 8);

/// The real machine with a clock that stands nearly still, and the kernel's part of a time slice
/// extension.
struct kernel_world : derived_world<kernel_world, native> {
  using unwatched = kernel_world;
  static inline std::int64_t now_ns = 0;
  static inline lockyard::detail::os::slice_control control{};
  static inline int given_back = 0;
  static inline bool has_extension = true;

  static time_point now() noexcept { return time_point{std::chrono::nanoseconds{++now_ns}}; }
  static deadline deadline_after(std::chrono::nanoseconds duration) noexcept {
    return now() + duration;
  }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return now(); }
  static bool passed(deadline limit) noexcept { return now() >= limit; }

  static lockyard::detail::os::slice_control* slice_extension() noexcept {
    return has_extension ? &control : nullptr;
  }
  static void end_slice_extension() noexcept {
    ++given_back;
    control.granted = 0;
  }
  /// The thread would lose its processor now.
  static bool grants() noexcept {
    if (control.request == 0) return false;
    control.request = 0;
    control.granted = 1;
    return true;
  }
};

using kernels_mutex = basic_owner_aware_mutex<kernel_world>;
using watch = lockyard::detail::owner_watch<kernel_world>;

constexpr std::uint32_t elsewhere = 0;

TEST(OwnerWatch, spins_on_while_the_owner_runs) {
  const std::atomic<std::uint32_t> word{1};
  watch owner{word};
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(owner.may_run(native::thread_id(), elsewhere)) << i;
}

TEST(OwnerWatch, stops_when_the_owner_uses_no_processor_time) {
  std::atomic<std::uint32_t> sleeper{0}, word{0};
  std::thread asleep{[&] {
    sleeper = native::thread_id();
    while (word == 0) native::wait(word, 0);
  }};
  while (sleeper == 0) std::this_thread::yield();
  // By this world's clock the longest spin would take 100,000 looks.
  watch owner{word};
  int looks = 0;
  while (owner.may_run(sleeper, elsewhere)) {
    ++looks;
    std::this_thread::yield();
  }
  EXPECT_LT(looks, 50'000);
  word = 1;
  native::wake(word, 1);
  asleep.join();
}

TEST(OwnerWatch, stops_by_time_if_the_kernel_does_not_know_the_owner) {
  constexpr std::uint32_t unknown = 0xff'ffff;  // more than any number of a thread
  EXPECT_FALSE(lockyard::detail::os::processor_time_ns(unknown).has_value());
  const std::atomic<std::uint32_t> word{1};
  watch owner{word};
  EXPECT_TRUE(owner.may_run(unknown, elsewhere));
  EXPECT_FALSE(owner.may_run(unknown, elsewhere)) << "the time of a spin has passed";
}

TEST(OwnerWatch, does_not_spin_where_the_owner_was) {
  if (watch::processor() == 0) GTEST_SKIP() << "unavailable here: no restartable sequences";
  const std::atomic<std::uint32_t> word{1};
  // The thread may be moved between the two looks, but not forever.
  for (bool may_run = true; may_run;) {
    may_run = watch{word}.may_run(native::thread_id(), watch::processor());
  }
}

class TimeSlice : public ::testing::Test {
 protected:
  /// Each test has a thread of its own, which has not asked for the extension so far.
  template <class Body>
  static void in_thread(Body body) {
    kernel_world::control.request = kernel_world::control.granted = 0;
    kernel_world::given_back = 0;
    kernel_world::has_extension = true;
    std::thread{body}.join();
  }
};

TEST_F(TimeSlice, is_requested_while_a_thread_holds_a_mutex) {
  in_thread([] {
    kernels_mutex first, second;
    first.lock();
    second.lock();
    second.unlock();
    EXPECT_EQ(kernel_world::control.request, 1) << "the first one is still held";
    first.unlock();
    EXPECT_EQ(kernel_world::control.request, 0);
    EXPECT_EQ(kernel_world::given_back, 0) << "nothing was granted";
  });
}

TEST_F(TimeSlice, is_given_back_after_the_release) {
  in_thread([] {
    kernels_mutex mutex, second;
    mutex.lock();
    EXPECT_TRUE(kernel_world::grants());
    second.lock();
    second.unlock();
    EXPECT_EQ(kernel_world::control.request, 0) << "one extension is enough";
    EXPECT_EQ(kernel_world::given_back, 0) << "the first one is still held";
    mutex.unlock();
    EXPECT_EQ(kernel_world::given_back, 1);
    EXPECT_FALSE(kernel_world::grants());
  });
}

TEST_F(TimeSlice, is_not_requested_by_a_thread_that_waits_or_fails) {
  in_thread([] {
    kernels_mutex mutex;
    mutex.lock();
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_EQ(kernel_world::control.request, 1) << "the thread still holds the mutex";
    mutex.unlock();
    EXPECT_EQ(kernel_world::control.request, 0);
  });
  in_thread([] {
    kernels_mutex mutex;
    std::thread{[&] {
      kernel_world::has_extension = false;
      mutex.lock();
      kernel_world::has_extension = true;
    }}.join();
    EXPECT_FALSE(mutex.try_lock_for(std::chrono::microseconds{1}));
    EXPECT_EQ(kernel_world::control.request, 0);
    mutex.unlock();
  });
}

TEST_F(TimeSlice, is_optional) {
  in_thread([] {
    kernel_world::has_extension = false;
    kernels_mutex mutex;
    mutex.lock();
    EXPECT_FALSE(kernel_world::grants());
    mutex.unlock();
    EXPECT_EQ(kernel_world::given_back, 0);
  });
}

}  // namespace
}  // namespace lockyard::testing
