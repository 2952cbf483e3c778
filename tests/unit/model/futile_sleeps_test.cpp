// SPDX-License-Identifier: Apache-2.0

// Sleeps that end for no reason any number of times: random programs have the same outcomes and
// hangs as where each of a few such wakes is searched.

#include "random_programs.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockyard::model::testing {
namespace {

using std::memory_order;

constexpr auto rlx = memory_order::relaxed;

result search_with(const program& of, settings how) {
  return search_of(of, {.how = how, .workers = 1, .memory_bytes = std::size_t{1} << 28U});
}

/// The outcomes of a search within bounds need not be all.
bool is_whole(const result& of) {
  return of.by.bounded.find("spurious") == std::string::npos;
}

TEST(FutileSleeps, make_no_difference_to_random_programs) {
  unsigned differences = 0;
  unsigned compared = 0;
  for (std::uint64_t seed = 1; seed <= programs(2000) && differences < 5; ++seed) {
    generator random{seed};
    const program tried = random.make_of_sleeps();
    settings how = random.make_settings();
    how.spurious_wakes = 1;
    const result any = search_with(tried, how);
    how.counts_all_wakes = true;
    how.spurious_wakes = 5;
    const result counted = search_with(tried, how);
    if (!is_whole(any)) continue;
    ++compared;
    const bool agree = any.by.result == counted.by.result;
    if (agree && (any.by.result != verdict::passed || any.outcomes == counted.outcomes)) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << name_of(any.by.result) << " with "
                  << any.outcomes.size() << " outcomes instead of " << name_of(counted.by.result)
                  << " with " << counted.outcomes.size() << "\n"
                  << to_text(tried);
  }
  EXPECT_GT(compared, programs(2000) / 2);
}

constexpr instruction sleeps{action::sleep_while, 0, rlx, 0, 0};
constexpr instruction sleeps_in_turns{action::sleep_in_turns, 0, rlx, 0, 0};
constexpr instruction ends_it{action::store, 0, rlx, 1, 0};
constexpr instruction wakes_one{action::wake, 0, rlx, 1, 0};

TEST(FutileSleeps, have_no_limit_in_a_loop_that_only_looks) {
  for (const instruction& loop : {sleeps, sleeps_in_turns}) {
    const found by = search_with({{loop}, {ends_it, wakes_one}}, {.spurious_wakes = 1}).by;
    EXPECT_EQ(by.result, verdict::passed);
    EXPECT_EQ(by.bounded, "");
  }
}

/// Both begin to sleep again and again, and each time the other one has used the queue.
TEST(FutileSleeps, end_for_two_threads_on_one_word) {
  const program of{{sleeps}, {sleeps}, {ends_it, wakes_one, wakes_one}};
  const found by = search_with(of, {.spurious_wakes = 1, .wakes_any = true}).by;
  EXPECT_EQ(by.result, verdict::passed);
}

}  // namespace
}  // namespace lockyard::model::testing
