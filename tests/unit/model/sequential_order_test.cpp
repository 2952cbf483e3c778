// SPDX-License-Identifier: Apache-2.0

// Executions that C++20 allows because the order of sequentially consistent operations follows
// strongly-happens-before and coherence, and nothing else.

#include "litmus/litmus.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace lockyard::model {
namespace {

using order = std::memory_order;
constexpr auto rlx = order::relaxed;
constexpr auto acq = order::acquire;
constexpr auto rel = order::release;
constexpr auto sc = order::seq_cst;

/// Lamport's bakery for two threads; the order in which `choosing` becomes false is a parameter.
template <order Chosen>
class bakery : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned mine) override {
    const unsigned theirs = 1 - mine;
    choosing_[mine].store(1, sc);
    const unsigned ticket = number_[theirs].load(sc) + 1;
    number_[mine].store(ticket, sc);
    choosing_[mine].store(0, Chosen);
    model::await(
        choosing_[theirs], [](unsigned value) noexcept { return value == 0; }, sc,
        wait_policies::busy{});
    model::await(
        number_[theirs],
        [=](unsigned value) noexcept {
          return value == 0 || value > ticket || (value == ticket && theirs > mine);
        },
        sc, wait_policies::busy{});
    data_.write(data_.read() + 1);
    number_[mine].store(0, rel);
  }

 private:
  std::array<word<unsigned>, 2> choosing_;
  std::array<word<unsigned>, 2> number_;
  plain_data<unsigned> data_{0};
};

template <class Client>
found all_of() {
  return explore([] { return std::make_unique<Client>(); }, {});
}

TEST(SequentialOrder, bakery_needs_the_end_of_choosing_to_be_ordered) {
  EXPECT_EQ(all_of<bakery<rlx>>().result, verdict::race);
  const found correct = all_of<bakery<sc>>();
  EXPECT_EQ(correct.result, verdict::passed) << correct.what << "\n" << to_text(correct.steps);
  EXPECT_EQ(correct.left_out, "");
}

/// Each of 40 rounds has two operations in the order, which is more than fit a word of bits.
class long_client : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 1) return word_.store(1000, rlx);
    for (unsigned i = 0; i < 40; ++i) {
      word_.store(i, sc);
      model::fence(sc);
    }
    x_.store(1, sc);
    seen_ = y_.load(sc);
  }
  void finish() override { require(seen_ == 0, "no thread has written"); }

 private:
  word<unsigned> word_{0};
  word<unsigned> x_{0};
  word<unsigned> y_{0};
  unsigned seen_ = 7;
};

TEST(SequentialOrder, has_room_for_many_operations) {
  plan by;
  by.how.preemptions = 0;
  const found result = explore([] { return std::make_unique<long_client>(); }, by);
  EXPECT_EQ(result.result, verdict::passed) << result.what;
  EXPECT_EQ(result.left_out, "");
}

}  // namespace
}  // namespace lockyard::model
