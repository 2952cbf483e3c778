// SPDX-License-Identifier: Apache-2.0
#include <lockyard/check.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/spin/tas_spinlock.hpp>
#include <lockyard/spin/ticket_spinlock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lockyard::testing {
namespace {

/// Has the fault of examples/my_lock: its unlock publishes nothing.
template <world W>
class relaxed_spinlock {
 public:
  void lock() noexcept {
    W::await_exchange(locked_, true, is_zero, std::memory_order_acquire, wait_policies::busy{});
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_relaxed); }

 private:
  atomic<W, bool> locked_{false};
};

/// Each thread tells the other, and looks whether it was told: one of them sees it if `Order` is
/// sequentially consistent.
template <std::memory_order Order>
class told : public check::client {
 public:
  explicit told(unsigned threads = 2) : threads_{threads} {}
  [[nodiscard]] unsigned threads() const override { return threads_; }
  void thread(unsigned index) override {
    (index == 0 ? first_ : second_).store(true, Order);
    const bool saw = (index == 0 ? second_ : first_).load(Order);
    (index == 0 ? first_saw_ : second_saw_).write(saw);
  }
  void finish() override {
    check::require(first_saw_.read() || second_saw_.read(), "one of them saw it");
  }

 private:
  unsigned threads_;
  check::world::atomic<bool> first_{false};
  check::world::atomic<bool> second_{false};
  check::world::var<bool> first_saw_{false};
  check::world::var<bool> second_saw_{false};
};

template <class Client>
check::client_maker maker(unsigned threads = 2) {
  return [threads] { return std::make_unique<Client>(threads); };
}

std::string printed(const check::result& result) {
  std::ostringstream text;
  text << result;
  return text.str();
}

TEST(Check, leaves_out_exchanged_threads_of_a_symmetric_lock) {
  const check::options three{.threads = 3};
  check::options symmetric = three;
  symmetric.symmetric = true;
  const auto all = check::exclusion<basic_ticket_spinlock>(three);
  const auto fewer = check::exclusion<basic_ticket_spinlock>(symmetric);
  EXPECT_TRUE(all.passed() && fewer.passed()) << all << fewer;
  EXPECT_LT(fewer.executions(), all.executions());
}

TEST(Check, passes_a_lock_given_as_a_template_or_as_a_type) {
  const auto by_template = check::exclusion<basic_tas_spinlock>({.threads = 3});
  const auto by_type = check::exclusion<basic_tas_spinlock<check::world>>({.threads = 3});
  EXPECT_TRUE(by_template.passed()) << by_template;
  EXPECT_TRUE(by_type.passed()) << by_type;
  EXPECT_EQ(by_template.coverage(), "exhaustive");
  EXPECT_EQ(by_template.reason(), "");
  EXPECT_EQ(by_template.replay_string(), "");
}

TEST(Check, reports_a_fault_with_its_interleaving_and_replays_it) {
  const auto result = check::exclusion<relaxed_spinlock>({.threads = 2});
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.kind(), check::verdict::race);
  const std::string text = printed(result);
  EXPECT_NE(text.find("race: "), std::string::npos) << text;
  EXPECT_NE(text.find("  T0     check_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("store relaxed"), std::string::npos) << text;
  EXPECT_NE(text.find("(by T0)"), std::string::npos) << text;
  EXPECT_NE(text.find("replay: \"" + result.replay_string()), std::string::npos) << text;
  const auto again = check::replay<relaxed_spinlock>(result.replay_string(), {.threads = 2});
  EXPECT_EQ(again.kind(), check::verdict::race) << again;
  EXPECT_EQ(again.coverage(), "replayed");
}

TEST(Check, refuses_a_replay_string_that_does_not_fit) {
  for (const char* const text : {"zzzz", "not one!"}) {
    const auto result = check::replay<basic_tas_spinlock>(text);
    EXPECT_EQ(result.kind(), check::verdict::not_deterministic) << result;
  }
}

TEST(Check, explores_a_client_of_ones_own) {
  const auto strong = check::explore(maker<told<std::memory_order_seq_cst>>());
  EXPECT_TRUE(strong.passed()) << strong;
  const auto weak = check::explore(maker<told<std::memory_order_relaxed>>());
  EXPECT_EQ(weak.kind(), check::verdict::assertion) << weak;
  EXPECT_EQ(weak.reason(), "one of them saw it");
  const auto again = check::replay(maker<told<std::memory_order_relaxed>>(), weak.replay_string());
  EXPECT_EQ(again.reason(), weak.reason()) << again;
}

TEST(Check, a_client_without_threads_or_with_too_many_fails) {
  for (const unsigned threads : {0U, check::max_threads + 1}) {
    const auto result = check::explore(maker<told<std::memory_order_seq_cst>>(threads));
    EXPECT_EQ(result.kind(), check::verdict::assertion) << result;
    EXPECT_EQ(result.reason(), "the client has 1 to 9 threads");
  }
}

TEST(Check, lets_the_last_thread_wait_with_a_time_out) {
  const auto result = check::exclusion<basic_futex_mutex>({.timed = true});
  EXPECT_TRUE(result.passed()) << result;
}

TEST(Check, names_what_was_covered) {
  const auto bounded = check::exclusion<basic_tas_spinlock>({.preemptions = 1});
  EXPECT_TRUE(bounded.passed()) << bounded;
  EXPECT_EQ(bounded.coverage(), "preemptions <= 1");
  const auto sample =
      check::exclusion<basic_tas_spinlock>({.order = check::search::random, .seconds = 0.01});
  EXPECT_TRUE(sample.passed()) << sample;
  EXPECT_EQ(sample.coverage(), "sampled");
}

TEST(Check, does_not_pass_what_it_could_not_cover) {
  const auto no_memory = check::exclusion<basic_tas_spinlock>({.memory_bytes = 0});
  EXPECT_FALSE(no_memory.passed());
  EXPECT_EQ(no_memory.kind(), check::verdict::inconclusive);
  EXPECT_EQ(no_memory.reason(), "the memory limit was reached");
  const auto too_deep = check::exclusion<basic_tas_spinlock>({.depth = 3});
  EXPECT_FALSE(too_deep.passed());
  EXPECT_EQ(too_deep.reason(), "deeper than 3 steps");
  EXPECT_NE(printed(too_deep).find("given up"), std::string::npos) << too_deep;
  const auto sample = check::exclusion<basic_tas_spinlock>(
      {.depth = 3, .order = check::search::random, .seconds = 0.01});
  EXPECT_FALSE(sample.passed()) << sample;
}

TEST(Check, refuses_options_that_check_nothing) {
  using check::options;
  for (const options& wrong :
       {options{.threads = 0}, options{.threads = check::max_threads + 1},
        options{.acquisitions = 0}, options{.early_timeouts = 16}, options{.short_spins = 16},
        options{.depth = 0}, options{.seconds = -1}, options{.workers = 0}}) {
    EXPECT_THROW(check::exclusion<basic_ticket_spinlock>(wrong), std::invalid_argument);
  }
  EXPECT_THROW(check::exclusion<relaxed_spinlock>({.tries = true}), std::invalid_argument);
  EXPECT_THROW(check::exclusion<relaxed_spinlock>({.timed = true}), std::invalid_argument);
  EXPECT_THROW(check::exclusion<basic_futex_mutex>({.tries = true, .timed = true}),
               std::invalid_argument);
}

}  // namespace
}  // namespace lockyard::testing
