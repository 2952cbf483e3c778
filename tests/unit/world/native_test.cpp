// SPDX-License-Identifier: Apache-2.0
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>

namespace lockyard {
namespace {

using namespace std::chrono_literals;
using word = native::atomic<std::uint32_t>;

const auto is_three = [](std::uint32_t value) { return value == 3; };

/// A policy that lets the awaited value come true at its n-th step.
struct setting {
  word& target;
  int steps_left;
  template <class World>
  void step() noexcept {
    if (--steps_left == 0) target.store(3, std::memory_order_release);
  }
};

TEST(Await, returns_the_value_that_satisfies_the_predicate) {
  word target{0};
  setting policy{target, 5};
  EXPECT_EQ(native::await(target, is_three, std::memory_order_acquire, policy), 3U);
  EXPECT_EQ(policy.steps_left, 0);
}

TEST(Await, gives_up_when_its_deadline_has_passed) {
  const word target{0};
  const auto found = native::await(target, is_three, std::memory_order_acquire,
                                   wait_policies::pausing{}, native::deadline_after(0ns));
  EXPECT_FALSE(found.has_value());
}

TEST(Await, prefers_success_to_a_deadline_that_has_passed) {
  const word target{3};
  const auto found = native::await(target, is_three, std::memory_order_acquire,
                                   wait_policies::pausing{}, native::deadline_after(0ns));
  EXPECT_EQ(found, 3U);
}

TEST(AwaitAny, names_the_condition_that_holds) {
  word first{0};
  word second{0};
  const condition wanted{first, is_three, std::memory_order_acquire};
  const condition aborted{second, is_three, std::memory_order_relaxed};
  setting policy{second, 3};
  EXPECT_EQ(native::await_any(policy, wanted, aborted), 1U);
  first = 3;
  EXPECT_EQ(native::await_any(policy, wanted, aborted), 0U) << "the first in the list wins";
}

TEST(AwaitAny, gives_up_when_its_deadline_has_passed) {
  const word target{0};
  const condition wanted{target, is_three, std::memory_order_acquire};
  EXPECT_FALSE(native::await_any(wait_policies::pausing{}, native::deadline_after(0ns), wanted));
}

TEST(AwaitExchange, returns_once_an_accepted_value_came_out) {
  word target{1};
  EXPECT_EQ(native::await_exchange(
                target, 1U, [](auto value) { return value == 1; }, std::memory_order_acquire,
                wait_policies::busy{}),
            1U);
}

struct recording {
  static inline int pauses = 0;
  static inline int yields = 0;
  static void pause() noexcept { ++pauses; }
  static void yield() noexcept { ++yields; }
};

TEST(BackingOff, doubles_its_pauses_up_to_its_limit) {
  wait_policies::backing_off<6> policy;
  int expected = 0;
  for (const int more : {1, 2, 4, 6, 6}) {
    policy.step<recording>();
    expected += more;
    EXPECT_EQ(recording::pauses, expected);
  }
  EXPECT_EQ(recording::yields, 0);
}

TEST(Futex, does_not_sleep_when_the_word_has_changed) {
  const word target{1};
  EXPECT_EQ(native::wait(target, 0), native::wait_result::changed);
}

TEST(Futex, times_out_at_a_deadline_that_has_passed) {
  const word target{1};
  EXPECT_EQ(native::wait(target, 1, native::deadline_after(-1s)), native::wait_result::timed_out);
  EXPECT_EQ(native::wait(target, 1, native::deadline{}), native::wait_result::timed_out);
}

TEST(Futex, wakes_a_sleeper_once_it_sleeps) {
  word target{0};
  std::thread sleeper{[&] {
    while (target.load() == 0) native::wait(target, 0);
  }};
  target.store(1);
  // The sleeper may not sleep yet; then it finds the word changed.
  while (native::wake(target, 1) == 0 && target.load() == 1) target.store(2);
  sleeper.join();
}

TEST(Futex, moves_nobody_when_the_word_has_changed) {
  const word from{1};
  const word to{0};
  EXPECT_FALSE(native::requeue(from, 0, 1, 1, to));
  EXPECT_TRUE(native::requeue(from, 1, 1, 1, to));
}

TEST(Futex, leaves_errno_as_it_found_it) {
  const word target{1};
  errno = ENOENT;
  native::wait(target, 0);
  native::wake(target, 1);
  native::yield();
  EXPECT_EQ(errno, ENOENT);
}

TEST(AsymmetricFence, switches_the_light_side_only_once_the_process_is_registered) {
  EXPECT_TRUE(native::asymmetric_fence_heavy());
  const auto mode = detail::asymmetric_mode_now.load();
  if (detail::sanitizer::under_tsan) {
    EXPECT_EQ(mode, detail::asymmetric_mode::fences);
  } else {
    EXPECT_EQ(mode == detail::asymmetric_mode::membarrier,
              detail::os::membarrier() == detail::os::membarrier_outcome::done);
  }
}

// ThreadSanitizer does not model fences.
#if !LOCKYARD_UNDER_TSAN
/// The store-buffering test: each side announces itself and looks for the other; both may not miss.
TEST(AsymmetricFence, asymmetric_fences_order_store_and_load) {
  constexpr int rounds = 2000;
  std::atomic<int> round{0};
  std::atomic<int> light{0};
  std::atomic<int> heavy{0};
  std::atomic<int> light_saw{0};
  std::thread partner{[&] {
    for (int i = 1; i <= rounds; ++i) {
      while (round.load(std::memory_order_acquire) != i) std::this_thread::yield();
      light.store(i, std::memory_order_relaxed);
      native::asymmetric_fence_light();
      light_saw.store(heavy.load(std::memory_order_relaxed), std::memory_order_relaxed);
      round.store(-i, std::memory_order_release);
    }
  }};
  int missed_by_both = 0;
  for (int i = 1; i <= rounds; ++i) {
    round.store(i, std::memory_order_release);
    heavy.store(i, std::memory_order_relaxed);
    ASSERT_TRUE(native::asymmetric_fence_heavy());
    const int heavy_saw = light.load(std::memory_order_relaxed);
    while (round.load(std::memory_order_acquire) != -i) std::this_thread::yield();
    if (heavy_saw != i && light_saw.load(std::memory_order_relaxed) != i) ++missed_by_both;
  }
  partner.join();
  EXPECT_EQ(missed_by_both, 0);
}
#endif

TEST(Random, gives_each_thread_its_own_sequence) {
  const std::uint32_t mine = native::random();
  EXPECT_NE(mine, native::random());
  std::uint32_t other = mine;
  std::thread{[&] { other = native::random(); }}.join();
  EXPECT_NE(mine, other);
}

}  // namespace
}  // namespace lockyard
