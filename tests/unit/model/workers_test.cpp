// SPDX-License-Identifier: Apache-2.0

// The workers of a search as processes, and the states that all workers share.

#include <model/client.hpp>
#include <model/explorer.hpp>
#include <model/shared_memory.hpp>
#include <model/state_cache.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace lockyard::model {
namespace {

TEST(StateCache, knows_each_state_that_it_was_given) {
  std::mt19937_64 random;
  std::vector<hash128> states(100'000);
  for (hash128& each : states) each.mix(random());
  state_cache cache{std::size_t{1} << 26U};
  for (const hash128& each : states) ASSERT_TRUE(cache.insert({.name = each}));
  for (const hash128& each : states) ASSERT_FALSE(cache.insert({.name = each}));
  EXPECT_FALSE(cache.full());
}

TEST(StateCache, goes_on_where_an_execution_has_made_more_steps_back) {
  state_cache cache{std::size_t{1} << 26U};
  const hash128 name;
  EXPECT_TRUE(cache.insert({.name = name, .steps_back = 2}));
  EXPECT_FALSE(cache.insert({.name = name, .steps_back = 1}));
  EXPECT_TRUE(cache.insert({.name = name, .steps_back = 3}));
  EXPECT_FALSE(cache.insert({.name = name, .steps_back = 3}));
}

TEST(StateCache, says_when_it_is_full) {
  state_cache cache{std::size_t{1} << 16U};
  hash128 state;
  for (unsigned i = 0; i < 4096 && !cache.full(); ++i) {
    state.mix(i);
    cache.insert({.name = state});
  }
  EXPECT_TRUE(cache.full());
  EXPECT_FALSE(cache.insert({.name = state}) && cache.insert({.name = state}) && !cache.full());
}

/// A helper is a process that the search has started.
bool is_helper = false;
bool needs_helper = false;
unsigned executions_here = 0;

/// Leaves a helper the time to begin.
void go_slowly_until(const std::atomic<bool>& has_helper) {
  constexpr unsigned before_helpers = 4096;
  if (is_helper || !needs_helper || ++executions_here <= before_helpers || has_helper) return;
  std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

enum class fault {
  none,
  fails_at_once,
  fails_in_helpers,     ///< and not where they tell of it
  fails_since_helpers,  ///< also where they tell of it
  ends_helpers,
  kills_helpers,
  teaches_once,
};

/// Three threads add to two words in thousands of orders.
class many_orders : public client {
 public:
  many_orders(fault which, std::atomic<bool>& has_helper) : which_{which}, has_helper_{has_helper} {
    if (which == fault::teaches_once && is_helper && !has_helper.exchange(true))
      execution::current()->search_anew();
  }
  [[nodiscard]] unsigned threads() const override { return 3; }
  void thread(unsigned index) override {
    for (unsigned i = 0; i < 5; ++i) {
      words_.at(i % 2).fetch_add(1U << (8 * index), std::memory_order_relaxed);
    }
  }
  void finish() override {
    go_slowly_until(has_helper_);
    if (is_helper && which_ != fault::teaches_once) has_helper_ = true;
    require(which_ != fault::fails_at_once, "nothing fails at once");
    if (which_ == fault::fails_in_helpers) require(!is_helper, "no helper runs it");
    if (which_ == fault::fails_since_helpers) require(!has_helper_, "no helper has run");
    if (which_ == fault::ends_helpers && is_helper) _exit(3);
    if (which_ == fault::kills_helpers && is_helper) std::raise(SIGKILL);
  }

 private:
  fault which_;
  std::atomic<bool>& has_helper_;
  std::array<word<unsigned>, 2> words_{};
};

struct searched {
  found result;
  bool has_helper;
};

searched search_with(fault which, unsigned workers, search order = search::exhaustive) {
  is_helper = false;
  needs_helper = workers > 1;
  executions_here = 0;
  const shared<std::atomic<bool>> has_helper;
  const plan by{.order = order,
                .uses_cache = false,
                .workers = workers,
                .forks = true,
                .seconds = order == search::exhaustive ? 0.0 : 30.0,
                .on_fork = [] { is_helper = true; }};
  found result = explore([&] { return std::make_unique<many_orders>(which, *has_helper); }, by);
  return {std::move(result), *has_helper};
}

TEST(Workers, that_are_processes_search_everything) {
  const auto [alone, alone_has_helper] = search_with(fault::none, 1);
  const auto [together, together_has_helper] = search_with(fault::none, 3);
  EXPECT_FALSE(alone_has_helper);
  EXPECT_TRUE(together_has_helper);
  EXPECT_TRUE(together.passed());
  EXPECT_EQ(together.executions, alone.executions);
  EXPECT_EQ(together.states, alone.states);
}

TEST(Workers, share_the_states_that_they_have_reached) {
  std::array<found, 2> results;
  needs_helper = false;
  for (const unsigned workers : {1U, 3U}) {
    const plan by{.reduces = false, .workers = workers, .forks = true};
    const shared<std::atomic<bool>> has_helper;
    results.at(workers / 2) =
        explore([&] { return std::make_unique<many_orders>(fault::none, *has_helper); }, by);
  }
  EXPECT_TRUE(results[1].passed());
  EXPECT_GT(results[1].cut, 0U);
  EXPECT_EQ(results[1].executions, results[0].executions);
  EXPECT_EQ(results[1].states, results[0].states);
}

/// Two threads write to a word and two read it, old values too.
class many_reads : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 4; }
  void thread(unsigned index) override {
    for (unsigned i = 0; i < 3; ++i) {
      if (index < 2) {
        on_.store(index * 3 + i + 1, std::memory_order_relaxed);
      } else {
        static_cast<void>(on_.load(std::memory_order_relaxed));
      }
    }
  }

 private:
  word<unsigned> on_{0};
};

/// Where another client of the checker's thread has the memory, the states of a worker have no
/// keys.
TEST(Workers, take_choices_in_the_same_order_with_keys_and_without) {
  const auto make = [] { return std::make_unique<many_reads>(); };
  const auto elsewhere = make();
  const found by = explore(make, {.workers = 2});
  EXPECT_TRUE(by.passed()) << by.what;
  EXPECT_GT(by.executions, 1000U);
}

TEST(Workers, count_the_execution_that_fails) {
  for (const search order : {search::exhaustive, search::random}) {
    EXPECT_EQ(search_with(fault::fails_at_once, 1, order).result.executions, 1U);
  }
}

TEST(Workers, tell_the_first_process_of_a_failure) {
  EXPECT_EQ(search_with(fault::fails_since_helpers, 2).result.result, verdict::assertion);
  EXPECT_EQ(search_with(fault::fails_in_helpers, 2).result.result, verdict::not_deterministic);
}

TEST(Workers, tell_the_first_process_of_a_failure_in_a_random_execution) {
  EXPECT_EQ(search_with(fault::fails_since_helpers, 2, search::random).result.result,
            verdict::assertion);
}

TEST(Workers, begin_anew_together) {
  const auto [result, has_taught] = search_with(fault::teaches_once, 2);
  EXPECT_TRUE(has_taught);
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.executions, search_with(fault::none, 1).result.executions);
}

TEST(Workers, may_be_lost) {
  const std::uint64_t executions = search_with(fault::none, 1).result.executions;
  for (const fault each : {fault::ends_helpers, fault::kills_helpers}) {
    const found result = search_with(each, 3).result;
    EXPECT_TRUE(result.passed());
    EXPECT_EQ(result.executions, executions);
  }
}

}  // namespace
}  // namespace lockyard::model
