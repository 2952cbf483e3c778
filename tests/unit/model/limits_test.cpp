// SPDX-License-Identifier: Apache-2.0

// The largest clients that there is room for; the refusal of larger ones; and the caps that a
// result names where they took effect, and only there.

#include <model/client.hpp>
#include <model/explorer.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockyard::model {
namespace {

constexpr auto rlx = std::memory_order_relaxed;
constexpr auto is_one = [](unsigned value) noexcept { return value == 1; };

/// Each thread hands a number on to the next one; a faulty hand makes the chain a race.
class chain_client : public client {
 public:
  explicit chain_client(unsigned threads, std::optional<unsigned> faulty = std::nullopt)
      : threads_{threads}, faulty_{faulty}, turn_(threads + 1) {}
  [[nodiscard]] unsigned threads() const override { return threads_; }
  void thread(unsigned index) override {
    if (index != 0) {
      model::await(turn_[index], is_one, std::memory_order_acquire, wait_policies::busy{});
    }
    data_.write(data_.read() + 1);
    turn_[index + 1].store(1, index == faulty_ ? rlx : std::memory_order_release);
  }
  void finish() override { require(data_.read() == threads_, "each thread has added one"); }

 private:
  unsigned threads_;
  std::optional<unsigned> faulty_;
  std::vector<word<unsigned>> turn_;
  plain_data<unsigned> data_{0};
};

/// Each of `words` words is written by one thread, and the last one is read by the other.
class wide_client : public client {
 public:
  explicit wide_client(std::size_t words) : words_(words) {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 0) return words_.back().store(1, std::memory_order_release);
    if (words_.back().load(std::memory_order_acquire) == 0) return;
    for (auto& each : words_) seen_ += each.load(rlx);
  }
  void finish() override { require(seen_ <= 1, "one word is set"); }

 private:
  std::vector<word<unsigned>> words_;
  unsigned seen_ = 0;
};

template <class Client, class... Arguments>
found all_of(const settings& how, Arguments... arguments) {
  return explore([=] { return std::make_unique<Client>(arguments...); }, {.how = how});
}

void expect_refusal(const found& result, const std::string& cause, const std::string& remedy) {
  EXPECT_EQ(result.result, verdict::passed) << result.what;
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.left_out.find(cause), std::string::npos) << result.left_out;
  EXPECT_NE(result.left_out.find("searched"), std::string::npos) << result.left_out;
  EXPECT_NE(result.left_out.find(remedy), std::string::npos) << result.left_out;
}

TEST(Limits, leave_room_for_nine_threads) {
  const found correct = all_of<chain_client>({}, 9U);
  EXPECT_TRUE(correct.passed()) << correct.what << correct.left_out;
  EXPECT_EQ(correct.bounded, "");
  // The last hand is as good as the first one: no thread's knowledge is cut off.
  EXPECT_EQ(all_of<chain_client>({}, 9U, 0U).result, verdict::race);
  EXPECT_EQ(all_of<chain_client>({}, 9U, 7U).result, verdict::race);
}

TEST(Limits, refuse_a_tenth_thread) {
  expect_refusal(all_of<chain_client>({}, 10U), "has 10 threads", "at most 9");
}

TEST(Limits, leave_room_for_256_words) {
  const found result = all_of<wide_client>({}, std::size_t{256});
  EXPECT_TRUE(result.passed()) << result.what << result.left_out;
  EXPECT_EQ(result.bounded, "");
}

TEST(Limits, refuse_word_257) {
  expect_refusal(all_of<wide_client>({}, std::size_t{257}), "more than 256 atomic objects",
                 "use fewer");
}

/// One word is written again and again.
class busy_client : public client {
 public:
  explicit busy_client(unsigned writes) : writes_{writes} {}
  [[nodiscard]] unsigned threads() const override { return 1; }
  void thread(unsigned /*index*/) override {
    for (unsigned i = 0; i < writes_; ++i) word_.store(i, rlx);
  }

 private:
  unsigned writes_;
  word<unsigned> word_{0};
};

TEST(Limits, refuse_write_251_of_a_word) {
  EXPECT_TRUE(all_of<busy_client>({}, 249U).passed());
  expect_refusal(all_of<busy_client>({}, 250U), "more than 250 times", "smaller client");
}

/// The first thread waits in the way that the test asks for, the second one ends the wait.
enum class way : std::uint8_t { sleeps, sleeps_until, awaits, spins, loads };

class waiting_client : public client {
 public:
  explicit waiting_client(way how) : how_{how} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 1) {
      word_.store(1, rlx);
      model::wake(word_, 1);
      return;
    }
    const auto limit = model::deadline_after(std::chrono::milliseconds{1});
    switch (how_) {
      case way::sleeps:
        while (word_.load(rlx) == 0) model::wait(word_, 0);
        break;
      case way::sleeps_until: model::wait(word_, 0, limit); break;
      case way::awaits: model::await(word_, is_one, rlx, wait_policies::busy{}); break;
      case way::spins:
        model::await(word_, is_one, rlx, wait_policies::busy{}, model::spin_limit());
        break;
      case way::loads: word_.load(rlx); break;
    }
  }

 private:
  way how_;
  word<unsigned> word_{0};
};

std::string bounded(way how, const settings& within) {
  const found result = all_of<waiting_client>(within, how);
  EXPECT_TRUE(result.passed()) << result.what << result.left_out;
  return result.bounded;
}

TEST(Caps, are_named_where_they_took_effect_and_only_there) {
  constexpr settings none{
      .spurious_wakes = 0, .timeouts = 0, .short_spins = 0, .old_reads = std::nullopt};
  EXPECT_EQ(bounded(way::sleeps, none), "spurious wakes <= 0");
  EXPECT_EQ(bounded(way::sleeps_until, none), "spurious wakes <= 0, early time-outs <= 0");
  EXPECT_EQ(bounded(way::spins, none), "short spins <= 0");
  EXPECT_EQ(bounded(way::awaits, none), "");
  EXPECT_EQ(bounded(way::loads, none), "");
  EXPECT_EQ(bounded(way::loads, {.old_reads = 0}), "old reads <= 0");
  EXPECT_EQ(bounded(way::spins, {.short_spins = 1}), "");
  EXPECT_EQ(bounded(way::sleeps_until, {.spurious_wakes = 1, .timeouts = 1}), "");
}

}  // namespace
}  // namespace lockyard::model
