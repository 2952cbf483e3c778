// SPDX-License-Identifier: Apache-2.0
#include <tracing/interrupts.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace lockyard::harness {
namespace {

using enum trace::interrupt_kind;

TEST(Interrupts, an_interrupt_lasts_from_its_begin_to_its_end) {
  const auto found = interrupts_of(3, {{100, timer, true}, {250, timer, false}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cpu, 3);
  EXPECT_EQ(found[0].begin_ns, 100U);
  EXPECT_EQ(found[0].length_ns, 150U);
  EXPECT_EQ(found[0].kind, timer);
}

TEST(Interrupts, an_interrupt_within_another_one_is_part_of_it) {
  const auto found = interrupts_of(
      0,
      {{100, deferred, true}, {120, device, true}, {140, device, false}, {200, deferred, false}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].length_ns, 100U);
  EXPECT_EQ(found[0].kind, deferred);
}

TEST(Interrupts, an_end_whose_begin_was_overwritten_is_left_out) {
  const auto found = interrupts_of(0, {{90, timer, false}, {100, call, true}, {130, call, false}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].begin_ns, 100U);
}

TEST(Interrupts, an_interrupt_that_has_not_ended_is_left_out) {
  EXPECT_TRUE(interrupts_of(0, {{100, timer, true}}).empty());
}

TEST(Interrupts, a_page_fault_has_no_length_and_does_not_wait_for_an_end) {
  const auto found =
      interrupts_of(0, {{100, page_fault, true}, {200, timer, true}, {250, timer, false}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].length_ns, 0U);
  EXPECT_EQ(found[0].kind, page_fault);
  EXPECT_EQ(found[1].length_ns, 50U);
}

}  // namespace
}  // namespace lockyard::harness
