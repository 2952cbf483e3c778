// SPDX-License-Identifier: Apache-2.0

// What the search leaves out makes no difference: random programs have the same outcomes, hangs and
// caps with the reduction as in a search that leaves no order of steps out.

#include "random_programs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lockyard::model::testing {
namespace {

using std::memory_order;

void expect_no_difference(program (generator::*make)()) {
  unsigned differences = 0;
  for (std::uint64_t seed = 1; seed <= programs(2000) && differences < 5; ++seed) {
    generator random{seed};
    const program tried = (random.*make)();
    const std::string text = difference(
        tried,
        {.how = random.make_settings(), .workers = 1, .memory_bytes = std::size_t{1} << 28U});
    if (text.empty()) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << text;
  }
}

TEST(Reduction, makes_no_difference_to_random_programs) {
  expect_no_difference(&generator::make);
}

TEST(Reduction, leaves_out_equal_reads_without_a_difference) {
  expect_no_difference(&generator::make_of_equal_values);
}

/// Two equal messages, of which the older one tells more, or excludes more later.
TEST(Reduction, keeps_reads_of_newer_messages_that_permit_more) {
  using enum action;
  using enum memory_order;
  constexpr instruction full_fence{fence, 0, seq_cst, 0, 0};
  constexpr instruction late_store{store, 0, relaxed, 1, 0};
  const std::array<program, 5> all{{
      // The second message publishes nothing: a race.
      {{{publish, 0, release, 1, 0}, late_store}, {{receive, 0, acquire, 0, 0}}},
      // The same for an acquire fence after the read.
      {{{store, 1, relaxed, 1, 0}, {store, 0, release, 1, 0}, late_store},
       {{load, 0, relaxed, 0, 0}, {fence, 0, acquire, 0, 0}, {load, 1, relaxed, 0, 0}}},
      // A fence before a read of the first message is before the second one's writer's fence, so
      // that thread cannot miss the store.
      {{{store, 1, relaxed, 1, 0}, full_fence, {load, 0, relaxed, 0, 0}},
       {late_store, late_store, full_fence, {load, 1, relaxed, 0, 0}}},
      // The same for a light and a heavy fence.
      {{{store, 1, relaxed, 1, 0}, {light_fence, 0, relaxed, 0, 0}, {load, 0, relaxed, 0, 0}},
       {late_store, late_store, {heavy_fence, 0, relaxed, 0, 0}, {load, 1, relaxed, 0, 0}}},
      // The same for sequentially consistent accesses.
      {{{store, 1, seq_cst, 1, 0}, {load, 0, seq_cst, 0, 0}},
       {late_store, {store, 0, seq_cst, 1, 0}, {load, 1, seq_cst, 0, 0}}},
  }};
  for (const program& each : all) EXPECT_EQ(difference(each, {.workers = 1}), "");
}

/// The await may end by the first word's last message, though the second word's has the same value.
TEST(Reduction, compares_the_messages_of_one_word) {
  using enum action;
  constexpr auto rlx = memory_order::relaxed;
  const program tried{{{store, 0, rlx, 1, 0}, {store, 0, rlx, 2, 0}, {await_either, 0, rlx, 1, 1}},
                      {{store, 0, rlx, 1, 0}, {store, 1, rlx, 1, 0}}};
  EXPECT_EQ(difference(tried, {.workers = 1}), "");
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

/// A word that has no part in the order of graphs says which of two threads that are alike does
/// what: the one that comes second reads a word, which the first one writes late. In all executions
/// in which the threads are in order, one and the same of them writes.
class told_by_a_token : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 3; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override { return index / 2; }

  void thread(unsigned index) override {
    if (index == 2) {
      token_.emplace(0);
      second_.emplace(0);
      begins_.store(1, memory_order::release);
      word_.store(1, memory_order::relaxed);
      return;
    }
    model::await(begins_, equals{1}, memory_order::acquire, wait_policies::busy{});
    if (token_->exchange(1, memory_order::relaxed) == 0) {
      model::await(*second_, equals{1}, memory_order::relaxed, wait_policies::busy{});
      model::await(word_, equals{1}, memory_order::relaxed, wait_policies::busy{});
      word_.store(2, memory_order::relaxed);
    } else {
      second_->store(1, memory_order::relaxed);
      seen_ = word_.load(memory_order::relaxed);
    }
  }
  void finish() override { require(seen_ != 2, "the second thread reads the first one's value"); }

 private:
  word<unsigned> begins_{0};
  word<unsigned> word_{0};
  std::optional<word<unsigned>> token_;
  std::optional<word<unsigned>> second_;
  unsigned seen_ = 0;
};

TEST(Reduction, learns_of_a_thread_what_it_learns_of_one_that_is_alike) {
  const found result = explore([] { return std::make_unique<told_by_a_token>(); }, {.workers = 1});
  EXPECT_EQ(result.result, verdict::assertion);
}

/// The thread that writes the word makes each execution too long.
class writes_without_end : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 0) {
      require(word_.load(memory_order::relaxed) == 0, "the word was written");
      return;
    }
    word_.store(1, memory_order::relaxed);
    for (;;) other_.fetch_add(1, memory_order::relaxed);
  }

 private:
  word<unsigned> word_{0};
  word<unsigned> other_{0};
};

TEST(Reduction, learns_from_executions_that_are_too_long) {
  const found result =
      explore([] { return std::make_unique<writes_without_end>(); }, {.workers = 1});
  EXPECT_EQ(result.result, verdict::assertion);
}

}  // namespace
}  // namespace lockyard::model::testing
