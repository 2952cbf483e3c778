// SPDX-License-Identifier: Apache-2.0
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/worlds.hpp"

namespace lockyard {
namespace {

static_assert(complete_world<native>);  // is_tested_world<native> promises it

using namespace std::chrono_literals;
using word = native::atomic<std::uint32_t>;

const auto is_three = [](std::uint32_t value) { return value == 3; };

/// A policy that lets the awaited value come true at its n-th step.
struct setting {
  word& target;
  int steps_left;
  template <class World>
  step_length step() noexcept {
    if (--steps_left == 0) target.store(3, std::memory_order_release);
    return step_length::brief;
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

/// A world in which every deadline has passed, and what is awaited comes true just then.
struct last_moment : derived_world<last_moment, native> {
  static inline word* target = nullptr;
  static inline int clock_reads = 0;
  static bool passed(deadline /*limit*/) noexcept {
    ++clock_reads;
    if (target != nullptr) target->store(3, std::memory_order_release);
    return target != nullptr || clock_reads == 3;
  }
};

TEST(Await, looks_once_more_after_its_deadline_has_passed) {
  word target{0};
  last_moment::target = &target;
  EXPECT_EQ(last_moment::await(target, is_three, std::memory_order_acquire,
                               wait_policies::pausing{}, last_moment::deadline{}),
            3U);
  last_moment::target = nullptr;
}

/// Counts its steps, all of one length.
struct stepping {
  step_length length;
  int steps = 0;
  template <class World>
  step_length step() noexcept {
    ++steps;
    return length;
  }
};

TEST(Await, reads_the_clock_after_sixteen_brief_steps_or_one_lengthy_step) {
  const word target{0};
  for (const auto& [length, steps] :
       {std::pair{step_length::brief, 48}, {step_length::lengthy, 3}}) {
    stepping policy{length};
    last_moment::clock_reads = 0;
    last_moment::await(target, is_three, std::memory_order_acquire, policy,
                       last_moment::deadline{});
    EXPECT_EQ(policy.steps, steps);
  }
}

TEST(ThreadKey, is_never_zero_and_never_comes_back) {
  std::set<std::uintptr_t> keys{native::thread_key()};
  for (int i = 0; i < 100; ++i) {
    std::thread{[&] { EXPECT_TRUE(keys.insert(native::thread_key()).second); }}.join();
  }
  EXPECT_FALSE(keys.contains(0));
  EXPECT_TRUE(keys.contains(native::thread_key())) << "a thread keeps its key";
}

TEST(Deadline, of_an_endless_duration_never_passes) {
  EXPECT_FALSE(native::passed(native::deadline_after(std::chrono::nanoseconds::max())));
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
  EXPECT_FALSE(
      native::await_any_until(wait_policies::pausing{}, native::deadline_after(0ns), wanted));
}

TEST(AwaitExchange, returns_once_an_accepted_value_came_out) {
  word target{1};
  EXPECT_EQ(native::await_exchange(
                target, 1U, [](auto value) { return value == 1; }, std::memory_order_acquire,
                wait_policies::busy{}),
            1U);
}

struct recording {
  static inline std::uint32_t draw = 0;
  static inline int pauses = 0;
  static void pause() noexcept { ++pauses; }
  static std::uint32_t pauses_in(std::chrono::nanoseconds length) noexcept {
    return static_cast<std::uint32_t>(length.count() / 10);
  }
  static std::uint32_t random() noexcept { return draw; }
};

TEST(BackingOff, waits_a_random_time_below_a_limit_that_doubles_up_to_its_most) {
  wait_policies::backing_off<10, 60> policy;
  const auto pauses_of_a_step = [&](std::uint32_t draw) {
    recording::draw = draw;
    recording::pauses = 0;
    policy.step<recording>();
    return recording::pauses;
  };
  for (const std::uint32_t limit : {1U, 2U, 4U, 6U, 6U}) {
    EXPECT_EQ(pauses_of_a_step(limit - 1), limit);
  }
  EXPECT_EQ(pauses_of_a_step(6), 1) << "the draw wraps at the limit";
}

TEST(Calibration, knows_more_pauses_in_a_longer_time) {
  EXPECT_GE(native::pauses_in(0ns), 1U);
  EXPECT_LT(native::pauses_in(1us), native::pauses_in(1ms));
}

TEST(Calibration, gives_a_spin_a_limit_that_passes) {
  const auto limit = native::spin_limit();
  EXPECT_TRUE(native::await(word{0}, is_three, std::memory_order_relaxed, wait_policies::pausing{},
                            limit) == std::nullopt);
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

TEST(Futex, wakes_as_many_as_it_is_told_where_it_is_told) {
  word from{0};
  word to{0};
  const auto sleep = [&] {
    while (from.load() == 0) native::wait(from, 0);
  };
  std::thread first{sleep};
  std::thread second{sleep};
  // A sleeper may return for no reason, and then sleeps where it began.
  for (std::uint32_t woken = 0; woken < 2;) {
    EXPECT_LE(native::requeue(from, 0, 0, 2, to).value(), 2U);
    EXPECT_EQ(native::wake(to, 0), 0U);
    const std::uint32_t of_one = native::wake(to, 1);
    EXPECT_LE(of_one, 1U);
    woken = of_one + native::wake(to, 2);
  }
  from.store(1);
  native::wake(from, 2);
  native::wake(to, 2);
  first.join();
  second.join();
}

TEST(Futex, wakes_a_sleeper_of_each_word) {
  for (const std::uint32_t count : {2U, 5U}) {
    std::array<word, 5> words{};
    std::array<const void*, 5> addresses{};
    std::atomic<std::uint32_t> woken{0};
    std::vector<std::thread> sleepers;
    for (std::uint32_t i = 0; i < count; ++i) {
      addresses[i] = &words[i];
      sleepers.emplace_back([&, i] {
        native::wait(words[i], 0);
        ++woken;
      });
    }
    while (woken < count) {
      native::wake_each(addresses.data(), count);
      std::this_thread::yield();
    }
    for (auto& each : sleepers) each.join();
  }
}

TEST(Futex, moves_nobody_when_the_word_has_changed) {
  const word from{1};
  const word to{0};
  EXPECT_EQ(native::requeue(from, 0, 1, 1, to), std::nullopt);
  EXPECT_EQ(native::requeue(from, 1, 1, 1, to), 0U);
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
  const auto mode = native::process_state<detail::asymmetric_fence>().mode();
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
  constexpr int rounds = 20000;
  std::atomic<int> round{0};
  std::atomic<int> light{0};
  std::atomic<int> heavy{0};
  std::atomic<int> light_saw{0};
  // Both sides have to run at the same moment, so they spin; but not forever, should a core be
  // missing.
  const auto await_round = [&round](int wanted) {
    for (int looks = 0; round.load(std::memory_order_acquire) != wanted; ++looks) {
      if (looks > 1000) std::this_thread::yield();
    }
  };
  const auto vary = [](int i) {
    for (int pauses = i % 16; pauses > 0; --pauses) native::pause();
  };
  std::thread partner{[&] {
    for (int i = 1; i <= rounds; ++i) {
      await_round(i);
      vary(i / 16);
      light.store(i, std::memory_order_relaxed);
      native::asymmetric_fence_light();
      light_saw.store(heavy.load(std::memory_order_relaxed), std::memory_order_relaxed);
      round.store(-i, std::memory_order_release);
    }
  }};
  int missed_by_both = 0;
  bool ordered = true;
  for (int i = 1; i <= rounds; ++i) {
    round.store(i, std::memory_order_release);
    vary(i);
    heavy.store(i, std::memory_order_relaxed);
    ordered = native::asymmetric_fence_heavy() && ordered;
    const int heavy_saw = light.load(std::memory_order_relaxed);
    await_round(-i);
    if (heavy_saw != i && light_saw.load(std::memory_order_relaxed) != i) ++missed_by_both;
  }
  partner.join();
  EXPECT_TRUE(ordered);
  EXPECT_EQ(missed_by_both, 0);
}
#endif

TEST(Hash, spreads_neighbouring_lines_over_its_upper_bits) {
  std::set<std::uint64_t> buckets;
  for (std::uintptr_t line = 0; line < 64; ++line) {
    buckets.insert(native::hash(reinterpret_cast<void*>(0x7f0012340000 + line * 64)) >> 56U);
  }
  EXPECT_GE(buckets.size(), 48U);
}

TEST(Random, gives_each_thread_its_own_sequence) {
  const std::uint32_t mine = native::random();
  EXPECT_NE(mine, native::random());
  std::uint32_t other = mine;
  std::thread{[&] { other = native::random(); }}.join();
  EXPECT_NE(mine, other);
}

}  // namespace
}  // namespace lockyard
