// SPDX-License-Identifier: Apache-2.0

// How executions are searched: bounds, caps, sampling, replay, and clients that cannot be checked.

#include <checker/registry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockyard::model {
namespace {

const client_maker& racing() {
  static const checker::checked_client& checked_client =
      *checker::find_client("queued_pending_hurries");
  static const client_maker make = checked_client.make(checked_client.size);
  return make;
}

client_maker correct(const client_size& size) {
  return checker::find_client("mcs_lock")->make(size);
}

found replayed(const std::string& text) {
  return replay(racing(), {}, text);
}

/// Two threads that add one after the other in three steps each; what they leave behind is an
/// outcome.
class adding_client : public client {
 public:
  explicit adding_client(std::set<unsigned>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    for (unsigned i = 0; i < 3; ++i) {
      const unsigned found = word_.load(std::memory_order_seq_cst);
      word_.store(found * 2 + index, std::memory_order_seq_cst);
    }
  }
  void finish() override { outcomes_.insert(word_.load(std::memory_order_seq_cst)); }

 private:
  std::set<unsigned>& outcomes_;
  word<unsigned> word_{1};
};

std::set<unsigned> outcomes_with(std::optional<unsigned> preemptions) {
  std::set<unsigned> outcomes;
  plan by{.workers = 1};
  by.how.preemptions = preemptions;
  by.how.old_reads = 0;  // otherwise a thread may see a value that another thread overwrote before
  explore([&outcomes] { return std::make_unique<adding_client>(outcomes); }, by);
  return outcomes;
}

/// The first step of the first thread must not come late.
class late_client : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 3; }
  void thread(unsigned index) override {
    for (unsigned i = 0; i < 6; ++i) {
      const unsigned found = word_.fetch_add(1, std::memory_order_seq_cst);
      if (index == 0 && i == 0) require(found < 12, "the first step comes late");
    }
  }

 private:
  word<unsigned> word_{0};
};

/// One thread spins twice for what the other one does; how often it gives up is an outcome.
class spinning_client : public client {
 public:
  explicit spinning_client(std::set<unsigned>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 0) return word_.store(1, std::memory_order_relaxed);
    const auto is_set = [](unsigned value) noexcept { return value != 0; };
    for (int i = 0; i < 2; ++i) {
      const auto seen = model::await(word_, is_set, std::memory_order_relaxed,
                                     wait_policies::busy{}, model::spin_limit());
      if (!seen) ++given_up_;
    }
  }
  void finish() override { outcomes_.insert(given_up_); }

 private:
  word<unsigned> word_{0};
  unsigned given_up_ = 0;
  std::set<unsigned>& outcomes_;
};

TEST(Search, finds_by_samples_what_a_long_search_would_come_to_late) {
  const found result = explore([] { return std::make_unique<late_client>(); },
                               {.samples = true, .workers = 1, .seconds = 60});
  EXPECT_EQ(result.result, verdict::assertion);
  EXPECT_LT(result.executions, 20'000U);
  const found again = replay([] { return std::make_unique<late_client>(); }, {}, result.replay);
  EXPECT_EQ(again.what, result.what);
}

TEST(Search, lets_as_many_spins_end_early_as_are_allowed) {
  for (const unsigned allowed : {0U, 1U, 2U}) {
    std::set<unsigned> outcomes;
    const found result =
        explore([&outcomes] { return std::make_unique<spinning_client>(outcomes); },
                {.how = {.timeouts = 0, .short_spins = allowed}, .workers = 1});
    EXPECT_EQ(result.result, verdict::passed) << result.what;
    EXPECT_EQ(outcomes.size(), allowed + 1);
  }
}

TEST(Search, sees_more_with_every_preemption_that_is_allowed) {
  const std::set<unsigned> all = outcomes_with(std::nullopt);
  std::set<unsigned> fewer = outcomes_with(0);
  EXPECT_EQ(fewer.size(), 2U) << "one thread after the other";
  for (const unsigned bound : {1U, 2U}) {
    const std::set<unsigned> more = outcomes_with(bound);
    EXPECT_TRUE(std::ranges::includes(more, fewer)) << bound;
    EXPECT_GT(more.size(), fewer.size()) << bound;
    fewer = more;
  }
  EXPECT_TRUE(std::ranges::includes(all, fewer));
}

/// Each thread stores to a word of its own, and loads the other's; what they found is an outcome.
class storing_client : public client {
 public:
  explicit storing_client(std::set<unsigned>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    words_[index].store(1, std::memory_order_relaxed);
    found_[index].write(words_[1 - index].load(std::memory_order_relaxed));
  }
  void finish() override { outcomes_.insert(found_[0].read() * 2 + found_[1].read()); }

 private:
  word<unsigned> words_[2]{};
  plain_data<unsigned> found_[2]{};
  std::set<unsigned>& outcomes_;
};

TEST(Search, reads_as_many_old_values_as_are_allowed) {
  const auto outcomes_with_old = [](std::optional<unsigned> old_reads) {
    std::set<unsigned> outcomes;
    const found result = explore([&outcomes] { return std::make_unique<storing_client>(outcomes); },
                                 {.how = {.old_reads = old_reads}, .workers = 1});
    EXPECT_EQ(result.result, verdict::passed) << result.what;
    return outcomes;
  };
  EXPECT_EQ(outcomes_with_old(0), (std::set{1U, 2U, 3U})) << "as if memory had no buffers";
  EXPECT_EQ(outcomes_with_old(1), (std::set{0U, 1U, 2U, 3U}));
  EXPECT_EQ(outcomes_with_old({}), (std::set{0U, 1U, 2U, 3U}));
}

/// The threads draw numbers where the checker does not see it, between stores that it sees.
class drawing_client : public client {
 public:
  explicit drawing_client(std::set<unsigned>& outcomes) : outcomes_{outcomes} {
    execution::current()->note_unseen();
  }
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    words_[index].store(1, std::memory_order_relaxed);
    drawn_[index] = next_++;
    words_[index].store(2, std::memory_order_relaxed);
  }
  void finish() override { outcomes_.insert(drawn_[0] * 2 + drawn_[1]); }

 private:
  word<unsigned> words_[2]{};
  unsigned next_ = 0;
  unsigned drawn_[2]{};
  std::set<unsigned>& outcomes_;
};

TEST(Search, merges_no_states_of_code_that_may_have_more_state) {
  std::set<unsigned> outcomes;
  const found result =
      explore([&] { return std::make_unique<drawing_client>(outcomes); }, {.workers = 1});
  EXPECT_TRUE(result.passed()) << result.what;
  EXPECT_EQ(outcomes, (std::set{1U, 2U}));
}

TEST(Search, finds_a_race_by_sampling) {
  for (const search order : {search::pct, search::random}) {
    const found result = explore(racing(), {.order = order, .workers = 2, .seconds = 10});
    EXPECT_EQ(result.result, verdict::race) << result.what;
    EXPECT_EQ(replayed(result.replay).result, verdict::race);
  }
}

TEST(Search, does_not_call_a_sample_everything) {
  const found result =
      explore(correct({.threads = 2}), {.order = search::random, .workers = 1, .seconds = 0.01});
  EXPECT_EQ(result.result, verdict::passed);
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.left_out, "sampled");
}

TEST(Search, is_inconclusive_where_an_execution_is_deeper_than_the_cap) {
  plan by;
  by.how.depth = 5;
  const found result = explore(correct({.threads = 2}), by);
  EXPECT_FALSE(result.passed());
  EXPECT_GT(result.too_deep, 0U);
  EXPECT_NE(result.left_out.find("5 steps"), std::string::npos) << result.left_out;
}

TEST(Search, is_inconclusive_where_memory_does_not_suffice) {
  const found result = explore(correct({.threads = 4}), {.memory_bytes = 1U << 12U});
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.left_out.find("memory"), std::string::npos) << result.left_out;
}

/// Two threads wake sleepers that do not exist, in every order, and come to the same states. Then
/// one of them is alone, and each of its reads has three messages to choose from.
class meeting_client : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 0) {
      for (unsigned i = 1; i <= 2; ++i) word_.store(i, std::memory_order_relaxed);
    }
    for (unsigned i = 0; i < 3; ++i) model::wake(unused_[index], 1);
    if (index == 1) {
      for (unsigned i = 0; i < 3; ++i) word_.load(std::memory_order_relaxed);
    }
  }

 private:
  word<std::uint32_t> word_{0};
  std::array<word<std::uint32_t>, 2> unused_{};
};

TEST(Search, looks_states_up_only_where_it_branches) {
  const found result = explore([] { return std::make_unique<meeting_client>(); }, {.workers = 1});
  EXPECT_TRUE(result.passed()) << result.what;
  // With all states looked up: 114 states, 76 executions; with none behind a read: 94 executions.
  EXPECT_LE(result.states, 69U);
  EXPECT_LE(result.executions, 80U);
}

TEST(Search, comes_to_the_same_states_wherever_objects_lie) {
  // Memory that was left allocated moves the next lock to another address.
  std::vector<std::unique_ptr<char[]>> left;
  const client_maker make = correct({.threads = 2});
  const client_maker moving = [&] {
    left.push_back(std::make_unique<char[]>(64));
    return make();
  };
  const found here = explore(make, {.workers = 1});
  const found there = explore(moving, {.workers = 1});
  EXPECT_EQ(here.states, there.states);
}

TEST(Replay, names_a_list_of_choices_that_ends_too_early) {
  const std::string whole = explore(racing(), {.workers = 1}).replay;
  ASSERT_GT(whole.size(), 1U);
  EXPECT_EQ(replayed(whole).result, verdict::race);
  const found cut = replayed(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(cut.result, verdict::not_deterministic);
  EXPECT_NE(cut.what.find("the list has"), std::string::npos) << cut.what;
}

TEST(Replay, names_a_list_of_choices_that_was_altered) {
  const std::string whole = explore(racing(), {.workers = 1}).replay;
  for (const char wrong : {'z', '!'}) {
    std::string altered = whole;
    altered[altered.size() / 2] = wrong;
    EXPECT_EQ(replayed(altered).result, verdict::not_deterministic) << altered;
  }
  EXPECT_EQ(replayed(whole + "0").result, verdict::not_deterministic) << "one choice too many";
}

/// Does something else each time it is run.
class counting_client : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    static unsigned runs = 0;
    if (index == 0 && ++runs % 2 == 0) word_.store(7, std::memory_order_relaxed);
    word_.exchange(index, std::memory_order_relaxed);
  }

 private:
  word<unsigned> word_{0};
};

TEST(Search, names_a_client_that_is_not_deterministic) {
  const found result = explore([] { return std::make_unique<counting_client>(); }, {.workers = 1});
  EXPECT_EQ(result.result, verdict::not_deterministic) << result.what;
}

}  // namespace
}  // namespace lockyard::model
