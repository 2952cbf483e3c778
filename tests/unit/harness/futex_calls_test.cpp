// SPDX-License-Identifier: Apache-2.0
#include <futex_calls.hpp>

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace lockyard::harness {
namespace {

void wake_nobody(unsigned times) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < times; ++i) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

TEST(FutexCalls, are_those_of_the_thread_that_counts) {
  const futex_calls mine;
  const auto before = mine.count();
  EXPECT_NE(before.has_value(), !mine.why_not().empty());
  if (!before) GTEST_SKIP() << "unavailable here: " << mine.why_not();
  wake_nobody(100);
  std::jthread{[] { wake_nobody(1000); }}.join();
  const auto after = mine.count();
  ASSERT_TRUE(after);
  EXPECT_GE(*after - *before, 100U);
  EXPECT_LT(*after - *before, 200U);  // joining takes one or two
}

TEST(FutexCalls, other_system_calls_are_none) {
  const futex_calls mine;
  const auto before = mine.count();
  for (int i = 0; i < 100; ++i) static_cast<void>(getppid());
  EXPECT_EQ(mine.count(), before);
}

}  // namespace
}  // namespace lockyard::harness
