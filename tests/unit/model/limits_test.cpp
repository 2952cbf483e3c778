// SPDX-License-Identifier: Apache-2.0

// Where the engine knowingly finds less than C++20 allows. A test here turns red when that changes.

#include "model/litmus.hpp"

#include <gtest/gtest.h>

namespace lockyard::checker {
namespace {

using order = std::memory_order;

/// Z6.U: C++20 and RC11 allow it, for happens-before does not order sequentially consistent
/// accesses of different words. The engine orders these as it executes them.
constexpr auto first = [](bench& t) {
  t.x.store(1, order::seq_cst);
  t.y.store(1, order::release);
};
constexpr auto second = [](bench& t) {
  t.r[0] = t.y.fetch_add(1, order::seq_cst);
  t.r[1] = t.y.load(order::relaxed);
};
constexpr auto third = [](bench& t) {
  t.y.store(3, order::seq_cst);
  t.r[2] = t.x.load(order::seq_cst);
};
constexpr auto z6_u = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 3 && t.r[2] == 0; };

TEST(Limits, z6_u_is_not_found_although_the_standard_allows_it) {
  const subject of = litmus<z6_u, first, second, third>("z6_u", model::verdict::assertion, "");
  const model::found result = model::explore(of.make(of.shape), {.how = of.how});
  EXPECT_EQ(result.result, model::verdict::passed);
  EXPECT_EQ(result.left_out, "");
}

}  // namespace
}  // namespace lockyard::checker
