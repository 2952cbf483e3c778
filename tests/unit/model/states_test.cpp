// SPDX-License-Identifier: Apache-2.0

// The states of threads and of the process: when each begins, and for which threads.

#include <model/client.hpp>
#include <model/explorer.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace lockyard::model {
namespace {

constexpr auto rlx = std::memory_order_relaxed;

struct counters {
  word<unsigned> total{0};
  plain_data<unsigned> plain{0};
};

/// What the two threads do with the state; its total afterwards is an outcome.
template <auto Body>
class state_client : public client {
 public:
  explicit state_client(std::set<unsigned>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned /*index*/) override { seen_.fetch_add(Body(), rlx); }
  void finish() override { outcomes_.insert(seen_.load(rlx)); }

 private:
  std::set<unsigned>& outcomes_;
  word<unsigned> seen_{0};
};

struct outcome {
  found result;
  std::set<unsigned> values;
};

template <auto Body>
outcome all_of() {
  outcome all;
  all.result =
      explore([&] { return std::make_unique<state_client<Body>>(all.values); }, {.workers = 1});
  return all;
}

TEST(ProcessState, is_one_object_whichever_thread_uses_it_first) {
  // The second one to add finds what the first one added; an execution begins with a new state.
  const auto all =
      all_of<[] { return model::process_state<counters>().total.fetch_add(1, rlx); }>();
  EXPECT_TRUE(all.result.passed()) << all.result.what;
  EXPECT_EQ(all.values, std::set{1U});
}

TEST(ProcessState, is_there_before_all_threads_but_orders_nothing_between_them) {
  const auto all = all_of<[] {
    auto& plain = model::process_state<counters>().plain;
    plain.write(plain.read() + 1);
    return 0U;
  }>();
  EXPECT_EQ(all.result.result, verdict::race) << all.result.what;
}

TEST(ThreadState, is_one_object_for_each_thread_and_begins_anew) {
  const auto all = all_of<[] {
    auto& mine = model::thread_state<counters>();
    mine.plain.write(mine.plain.read() + 1);
    mine.total.fetch_add(1, rlx);
    return mine.total.load(rlx) + model::thread_state<counters>().plain.read();
  }>();
  EXPECT_TRUE(all.result.passed()) << all.result.what;
  EXPECT_EQ(all.values, std::set{4U});
}

/// The first thread shows its own state's word to the second one, and ends.
template <bool WaitsForReader>
class shown_client : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    const auto is_set = [](auto value) noexcept { return value != 0; };
    if (index == 0) {
      shown_.store(&model::thread_state<counters>().total, std::memory_order_release);
      if (WaitsForReader) {
        model::await(read_, is_set, std::memory_order_acquire, wait_policies::busy{});
      }
      return;
    }
    word<unsigned>* const other = shown_.load(std::memory_order_acquire);
    if (other != nullptr) other->store(1, rlx);
    read_.store(1, std::memory_order_release);
  }

 private:
  word<word<unsigned>*> shown_{nullptr};
  word<unsigned> read_{0};
};

TEST(ThreadState, ends_with_its_thread) {
  const auto by = [](auto make) { return explore(make, {.workers = 1}).result; };
  EXPECT_EQ(by([] { return std::make_unique<shown_client<false>>(); }), verdict::lifetime);
  EXPECT_EQ(by([] { return std::make_unique<shown_client<true>>(); }), verdict::passed);
}

}  // namespace
}  // namespace lockyard::model
