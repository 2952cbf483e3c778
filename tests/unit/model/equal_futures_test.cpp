// SPDX-License-Identifier: Apache-2.0

// States that differ in their past and have the same future: random programs have the same outcomes
// and faults as where each graph is a state of its own.

#include "random_programs.hpp"

#include <checker/registry.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace lockyard::model::testing {
namespace {

using std::memory_order;

constexpr auto rlx = memory_order::relaxed;

/// Only the last read of each thread counts, so that many pasts have one future.
result search_with(const program& of, settings how, bool forgets_past) {
  how.forgets_past = forgets_past;
  return search_of(of, {.how = how, .workers = 1, .memory_bytes = std::size_t{1} << 28U}, 1);
}

/// Returns the number of programs with fewer executions.
template <class Make>
unsigned compare_random_programs(Make make) {
  unsigned differences = 0;
  unsigned smaller = 0;
  for (std::uint64_t seed = 1; seed <= programs(2000) && differences < 5; ++seed) {
    generator random{seed};
    const program tried = make(random);
    settings how = random.make_settings();
    const result all = search_with(tried, how, false);
    const result merged = search_with(tried, how, true);
    if (merged.by.executions < all.by.executions) ++smaller;
    const bool fails = all.by.result != verdict::passed;
    const bool is_same = merged.by.bounded == all.by.bounded && merged.outcomes == all.outcomes;
    if (merged.by.result == all.by.result && (fails || is_same)) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << name_of(merged.by.result) << " with "
                  << merged.outcomes.size() << " outcomes (" << merged.by.bounded << ") instead of "
                  << name_of(all.by.result) << " with " << all.outcomes.size() << " ("
                  << all.by.bounded << ")\n"
                  << to_text(tried);
  }
  return smaller;
}

TEST(EqualFutures, make_no_difference_to_random_programs) {
  EXPECT_GT(compare_random_programs([](generator& random) { return random.make(); }), 0U);
}

TEST(EqualFutures, make_no_difference_to_random_sleeps) {
  EXPECT_GT(compare_random_programs([](generator& random) { return random.make_of_sleeps(); }), 0U);
}

TEST(EqualFutures, make_no_difference_to_random_equal_values) {
  EXPECT_GT(
      compare_random_programs([](generator& random) { return random.make_of_equal_values(); }), 0U);
}

/// Two threads; the outcomes of the client's finish().
template <class Client>
std::set<std::string> outcomes_of() {
  std::set<std::string> outcomes;
  const found by = explore([&] { return std::make_unique<Client>(outcomes); }, {.workers = 1});
  EXPECT_TRUE(by.passed()) << by.what;
  return outcomes;
}

class client_of_two : public client {
 public:
  explicit client_of_two(std::set<std::string>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 2; }

 protected:
  std::set<std::string>& outcomes_;
  model::abstract_lock lock_;
};

/// The order of the threads remains in memory that is neither a word nor plain data.
class list_in_client : public client_of_two {
 public:
  using client_of_two::client_of_two;
  void thread(unsigned index) override {
    lock_.lock();
    list_[length_++] = static_cast<char>('a' + index);
    lock_.unlock();
  }
  void finish() override { outcomes_.insert(std::string(list_.begin(), list_.end())); }

 private:
  std::array<char, 2> list_{};
  std::size_t length_ = 0;
};

class list_with_memory : public client_of_two {
 public:
  using client_of_two::client_of_two;
  void thread(unsigned index) override {
    for (const char what : {'a', 'b'}) {
      lock_.lock();
      list_.write(list_.read() + static_cast<char>(what + 2 * index));
      lock_.unlock();
    }
  }
  void finish() override { outcomes_.insert(list_.read()); }

 private:
  plain_data<std::string> list_{std::string{}};
};

/// Both threads have looked at the word, and know what they have seen, before they say it.
class variable_on_stack : public client_of_two {
 public:
  using client_of_two::client_of_two;
  void thread(unsigned index) override {
    const unsigned seen = word_.load(rlx);
    word_.store(1, rlx);
    ready_.fetch_add(1, rlx);
    model::await(ready_, equals{2}, rlx, wait_policies::busy{});
    said_[index].store(seen + 1, rlx);
  }
  void finish() override {
    std::string all;
    for (const auto& each : said_) all += std::to_string(each.load(rlx));
    outcomes_.insert(all);
  }

 private:
  word<unsigned> word_{0};
  word<unsigned> ready_{0};
  std::array<word<unsigned>, 2> said_{};
};

constexpr auto any = [](unsigned) { return true; };

unsigned look_at(const word<unsigned>& at) {
  return model::await(at, any, rlx, wait_policies::busy{});
}

/// A fence comes after what the thread has read of a word that has ended since.
class fence_after_end : public client {
 public:
  explicit fence_after_end(std::set<std::string>& outcomes)
      : outcomes_{outcomes}, ends_{::new(place_) word<unsigned>{0}} {}
  [[nodiscard]] unsigned threads() const override { return 4; }
  void thread(unsigned index) override {
    if (index == 0) {
      look_at(*ends_);
      done_.fetch_add(1, memory_order::release);
      model::fence(memory_order::seq_cst);
      read_.store(stays_.load(rlx), rlx);
    } else if (index == 1) {
      ends_->store(1, rlx);
      done_.fetch_add(1, memory_order::release);
    } else if (index == 2) {
      stays_.store(1, rlx);
      model::fence(memory_order::seq_cst);
      old_.store(ends_->load(rlx), rlx);
      done_.fetch_add(1, memory_order::release);
    } else {
      model::await(done_, equals{3}, memory_order::acquire, wait_policies::busy{});
      ends_->~word();
    }
  }
  void finish() override {
    outcomes_.insert(std::to_string(read_.load(rlx)) + std::to_string(old_.load(rlx)));
  }

 private:
  std::set<std::string>& outcomes_;
  alignas(word<unsigned>) std::byte place_[sizeof(word<unsigned>)];
  word<unsigned>* ends_;
  word<unsigned> stays_{0};
  word<unsigned> done_{0};
  word<unsigned> read_{2};
  word<unsigned> old_{2};
};

/// An access comes after a fence whose thread has read a message that no thread may read any more.
class fence_below_floor : public client {
 public:
  explicit fence_below_floor(std::set<std::string>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 3; }
  void thread(unsigned index) override {
    if (index == 0) {
      fenced_.store(1, rlx);
      model::fence(memory_order::seq_cst);
      look_at(passed_);
      model::await(passed_, equals{1}, rlx, wait_policies::busy{});
    } else if (index == 1) {
      passed_.store(1, rlx);
    } else {
      model::await(passed_, equals{1}, rlx, wait_policies::busy{});
      passed_.load(memory_order::seq_cst);
      read_.store(fenced_.load(memory_order::seq_cst), rlx);
    }
  }
  void finish() override { outcomes_.insert(std::to_string(read_.load(rlx))); }

 private:
  std::set<std::string>& outcomes_;
  word<unsigned> passed_{0};
  word<unsigned> fenced_{0};
  word<unsigned> read_{2};
};

template <class Client>
void expect_same_outcomes() {
  std::array<std::set<std::string>, 2> outcomes;
  for (const bool forgets_past : {false, true}) {
    std::set<std::string>& all = outcomes[forgets_past ? 1 : 0];
    const settings how{.forgets_past = forgets_past};
    explore([&] { return std::make_unique<Client>(all); }, {.how = how, .workers = 1});
  }
  EXPECT_EQ(outcomes[0], outcomes[1]);
}

TEST(EqualFutures, depend_on_the_order_of_fences) {
  expect_same_outcomes<fence_after_end>();
  expect_same_outcomes<fence_below_floor>();
}

/// One thread sleeps forever, and the other one never comes out of its loop.
class endless_client : public client {
 public:
  explicit endless_client(unsigned places) : places_{places} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    if (index == 0) {
      model::wait(sleeps_, 0);
      return;
    }
    unsigned expected = 0;
    while (!taken_.compare_exchange_strong(expected, 1, rlx, rlx)) {
      expected = 0;
      if (places_ == 1) continue;
      if (taken_.compare_exchange_strong(expected, 2, rlx, rlx)) return;
      expected = 0;
    }
  }

 private:
  unsigned places_;
  word<std::uint32_t> sleeps_{0};
  word<unsigned> taken_{1};
};

TEST(EqualFutures, do_not_hide_a_loop_without_an_end) {
  for (const unsigned workers : {1U, 2U}) {
    for (const unsigned places : {1U, 2U}) {
      const found by =
          explore([&] { return std::make_unique<endless_client>(places); }, {.workers = workers});
      EXPECT_FALSE(by.passed() && by.bounded.empty());
    }
  }
}

TEST(EqualFutures, depend_on_the_memory_of_the_client) {
  EXPECT_EQ(outcomes_of<list_in_client>(), (std::set<std::string>{"ab", "ba"}));
}

TEST(EqualFutures, depend_on_data_with_memory_of_its_own) {
  EXPECT_EQ(outcomes_of<list_with_memory>(),
            (std::set<std::string>{"abcd", "acbd", "acdb", "cabd", "cadb", "cdab"}));
}

TEST(EqualFutures, depend_on_variables_on_the_stacks) {
  EXPECT_EQ(outcomes_of<variable_on_stack>(), (std::set<std::string>{"11", "12", "21"}));
}

TEST(EqualFutures, make_the_search_of_two_acquisitions_smaller) {
  for (const std::string_view name : {"mutex", "mutex[fence]"}) {
    const checker::checked_client& of = *checker::find_client(name);
    client_size size = of.size;
    size.acquisitions = 2;
    const auto search = [&](bool forgets_past) {
      settings how = of.how;
      how.short_spins = 0;
      how.forgets_past = forgets_past;
      return explore(of.make(size), {.how = how, .workers = 1});
    };
    const found all = search(false);
    const found merged = search(true);
    EXPECT_TRUE(all.passed() && merged.passed()) << name;
    EXPECT_LT(merged.executions, all.executions) << name;
  }
}

TEST(EqualFutures, are_the_same_for_each_worker) {
  const checker::checked_client& of = *checker::find_client("mutex_hands_on");
  const settings how = unbounded(of.how);
  const found alone = explore(of.make(of.size), {.how = how, .workers = 1});
  const found both = explore(of.make(of.size), {.how = how, .workers = 2});
  EXPECT_TRUE(alone.passed() && both.passed());
  // Two workers begin in different orders, so they find a few more.
  EXPECT_LT(both.states, alone.states * 5 / 4);
}

}  // namespace
}  // namespace lockyard::model::testing
