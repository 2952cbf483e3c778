// SPDX-License-Identifier: Apache-2.0

// What the search leaves out makes no difference: random programs have the same outcomes, hangs and
// caps with the reduction as in a search that leaves no order of steps out.

#include "random_programs.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockyard::model::testing {
namespace {

using std::memory_order;

TEST(Reduction, makes_no_difference_to_random_programs) {
  unsigned differences = 0;
  for (std::uint64_t seed = 1; seed <= programs(2000) && differences < 5; ++seed) {
    generator random{seed};
    const program tried = random.make();
    const std::string text = difference(
        tried,
        {.how = random.make_settings(), .workers = 1, .memory_bytes = std::size_t{1} << 28U});
    if (text.empty()) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << text;
  }
}

/// The second thread's store matters to a thread that sleeps, so the first thread's heavy fence may
/// be deferred before it; the light fence cannot come earlier than that store.
TEST(Reduction, lets_a_deferred_heavy_fence_come_after_a_light_one) {
  using enum action;
  constexpr auto rlx = memory_order::relaxed;
  const program tried{{{store, 0, rlx, 1, 0}, {heavy_fence, 0, rlx, 0, 0}, {load, 1, rlx, 0, 0}},
                      {{store, 1, rlx, 1, 0}, {sleep, 1, rlx, 0, 5}},
                      {{await, 1, rlx, 0, 1},
                       {store, 1, rlx, 2, 0},
                       {light_fence, 0, rlx, 0, 0},
                       {load, 0, rlx, 0, 0}}};
  EXPECT_EQ(difference(tried, {.workers = 1}), "");
}

}  // namespace
}  // namespace lockyard::model::testing
