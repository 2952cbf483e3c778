// SPDX-License-Identifier: Apache-2.0
#include <skew.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr double read_ns = 20;
constexpr counter_offset tight{.offset_ns = 10, .uncertainty_ns = 100};
constexpr counter_offset wide{.offset_ns = 3.16e6, .uncertainty_ns = 7.84e6};
constexpr counter_offset apart{.offset_ns = -900, .uncertainty_ns = 100};

using measured = std::vector<std::optional<counter_offset>>;

/// Answers with the given measurements of each pair, in order, and then with the last one.
class fabricated {
 public:
  explicit fabricated(std::vector<measured> pairs)
      : pairs_{std::move(pairs)}, attempts_(pairs_.size()) {}

  [[nodiscard]] clock_skew compared() {
    return compare_cores(
        static_cast<unsigned>(pairs_.size()),
        [this](unsigned pair, unsigned number) {
          EXPECT_EQ(number, attempts_[pair]);
          ++attempts_[pair];
          return number < pairs_[pair].size() ? pairs_[pair][number] : pairs_[pair].back();
        },
        read_ns);
  }
  [[nodiscard]] const std::vector<unsigned>& attempts() const { return attempts_; }

 private:
  std::vector<measured> pairs_;
  std::vector<unsigned> attempts_;
};

TEST(Skew, a_tight_bound_needs_one_attempt) {
  fabricated cores{{{tight}, {tight}}};
  const clock_skew skew = cores.compared();
  EXPECT_EQ(cores.attempts(), (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(skew.pairs, 2U);
  EXPECT_EQ(skew.attempts, 1U);
  EXPECT_EQ(skew.wide, 0U);
  EXPECT_EQ(refusal_of(true, skew), std::nullopt);
}

TEST(Skew, a_bound_that_is_too_wide_is_measured_again_until_one_is_tight) {
  fabricated cores{{{wide, std::nullopt, wide, tight}}};
  const clock_skew skew = cores.compared();
  EXPECT_EQ(cores.attempts(), std::vector<unsigned>{4});
  EXPECT_EQ(skew.attempts, 4U);
  EXPECT_DOUBLE_EQ(skew.offset_ns, tight.offset_ns);
  EXPECT_DOUBLE_EQ(skew.uncertainty_ns, tight.uncertainty_ns);
  EXPECT_EQ(refusal_of(true, skew), std::nullopt);
}

TEST(Skew, a_bound_that_stays_too_wide_is_refused_after_the_last_attempt) {
  fabricated cores{{{wide}}};
  const clock_skew skew = cores.compared();
  EXPECT_EQ(cores.attempts(), std::vector<unsigned>{skew_attempts_of_pair});
  EXPECT_EQ(skew.wide, 1U);
  EXPECT_EQ(refusal_of(true, skew), tsc_refusal::too_wide);
}

TEST(Skew, the_tightest_of_all_attempts_is_kept) {
  constexpr counter_offset better{.offset_ns = -5, .uncertainty_ns = 800};
  fabricated cores{{{wide, better, wide}}};
  const clock_skew skew = cores.compared();
  EXPECT_DOUBLE_EQ(skew.offset_ns, better.offset_ns);
  EXPECT_DOUBLE_EQ(skew.uncertainty_ns, better.uncertainty_ns);
  EXPECT_EQ(refusal_of(true, skew), tsc_refusal::too_wide);
}

TEST(Skew, the_limit_is_half_of_the_threshold_of_idle_for_offset_and_uncertainty_together) {
  EXPECT_DOUBLE_EQ(widest_skew_ns, 500);
  const auto refused = [](double offset_ns, double uncertainty_ns) {
    const counter_offset found{.offset_ns = offset_ns, .uncertainty_ns = uncertainty_ns};
    return refusal_of(true, fabricated{{{found}}}.compared());
  };
  EXPECT_EQ(refused(0, 500), std::nullopt);
  EXPECT_EQ(refused(-240, 260), std::nullopt);
  EXPECT_EQ(refused(0, 501), tsc_refusal::too_wide);
  EXPECT_EQ(refused(-250, 260), tsc_refusal::too_wide);
}

TEST(Skew, counters_that_are_apart_need_no_second_attempt) {
  fabricated cores{{{apart}}};
  const clock_skew skew = cores.compared();
  EXPECT_EQ(cores.attempts(), std::vector<unsigned>{1});
  EXPECT_EQ(skew.apart, 1U);
  EXPECT_EQ(skew.wide, 0U);
  EXPECT_EQ(refusal_of(true, skew), tsc_refusal::apart);
}

TEST(Skew, the_figures_are_of_a_pair_that_is_apart_before_one_that_is_only_too_wide) {
  for (const auto& pairs : {std::vector<measured>{{wide}, {apart}}, {{apart}, {wide}}}) {
    const clock_skew skew = fabricated{pairs}.compared();
    EXPECT_DOUBLE_EQ(skew.offset_ns, apart.offset_ns);
    EXPECT_EQ(refusal_of(true, skew), tsc_refusal::apart);
  }
}

TEST(Skew, the_figures_are_of_the_pair_with_the_largest_error) {
  constexpr counter_offset larger{.offset_ns = 0, .uncertainty_ns = 300};
  const clock_skew skew = fabricated{{{tight}, {larger}, {tight}}}.compared();
  EXPECT_DOUBLE_EQ(skew.uncertainty_ns, larger.uncertainty_ns);
}

TEST(Skew, a_pair_that_never_answers_is_retried_and_then_refused) {
  fabricated cores{{{std::nullopt}, {tight}}};
  const clock_skew skew = cores.compared();
  EXPECT_EQ(cores.attempts(), (std::vector<unsigned>{skew_attempts_of_pair, 1}));
  EXPECT_EQ(skew.pairs, 1U);
  EXPECT_EQ(skew.wanted, 2U);
  EXPECT_EQ(refusal_of(true, skew), tsc_refusal::not_compared);
}

TEST(Skew, no_pair_is_retried_once_the_counter_is_refused) {
  fabricated cores{{{wide}, {wide, tight}, {wide}}};
  const clock_skew skew = cores.compared();
  EXPECT_EQ(cores.attempts(), (std::vector<unsigned>{skew_attempts_of_pair, 1, 1}));
  EXPECT_EQ(skew.wide, 3U);
}

TEST(Skew, all_pairs_together_have_a_bounded_number_of_retries) {
  const measured late{wide, wide, wide, wide, wide, tight};
  constexpr unsigned pairs = 100;
  fabricated cores{std::vector<measured>(pairs, late)};
  const clock_skew skew = cores.compared();
  unsigned attempts = 0;
  for (const unsigned each : cores.attempts()) attempts += each;
  EXPECT_EQ(attempts, pairs + skew_retries_in_all);
  EXPECT_EQ(refusal_of(true, skew), tsc_refusal::too_wide);
}

TEST(Skew, a_counter_of_changing_rate_is_refused_however_well_the_cores_agree) {
  EXPECT_EQ(refusal_of(false, fabricated{{{tight}}}.compared()), tsc_refusal::not_invariant);
}

TEST(Skew, one_core_has_no_other_to_differ_from) {
  EXPECT_EQ(refusal_of(true, fabricated{{}}.compared()), std::nullopt);
}

}  // namespace
}  // namespace lockyard::harness
