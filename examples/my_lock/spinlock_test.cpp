// SPDX-License-Identifier: Apache-2.0
#include "spinlock.hpp"

#include <lockyard/check.hpp>

#include <gtest/gtest.h>

TEST(Spinlock, excludes_in_every_execution) {
  const auto result = lockyard::check::exclusion<my::basic_spinlock>({.threads = 3});
  EXPECT_TRUE(result.passed()) << result;
}
