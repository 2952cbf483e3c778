// SPDX-License-Identifier: Apache-2.0
#include <lockyard/detail/arch.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace lockyard::detail::arch {
namespace {

// A counter that stands still ends by the test's time-out.
TEST(CycleCounter, counts) {
  const std::uint64_t first = cycle_counter();
  while (cycle_counter() == first) pause();
  const std::uint64_t first_early = cycle_counter_early();
  while (cycle_counter_early() == first_early) pause();
}

TEST(CycleCounter, is_one_counter_however_it_is_read) {
  const std::uint64_t before = cycle_counter();
  const std::uint64_t early = cycle_counter_early();
  const std::uint64_t after = cycle_counter();
  EXPECT_LE(before, early);
  EXPECT_LE(early, after);
}

TEST(AwaitChange, ends_without_a_change_too) {
  if (!can_await_change())
    GTEST_SKIP() << "unavailable here: the processor has no such instruction";
  const std::uint32_t word = 0;
  int looks = 0;
  await_change(&word, [&looks] { return ++looks > 0; });
  await_change(&word, [&looks] { return ++looks < 0; });
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace lockyard::detail::arch
