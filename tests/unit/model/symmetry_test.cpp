// SPDX-License-Identifier: Apache-2.0

// Executions that others become if threads are exchanged need no search of their own, and the
// clients that say so of their threads are right.

#include "random_programs.hpp"

#include <checker/registry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace lockyard::model::testing {
namespace {

TEST(Symmetry, makes_no_difference_to_random_programs) {
  unsigned differences = 0;
  for (std::uint64_t seed = 1; seed <= programs(2000) && differences < 5; ++seed) {
    generator random{seed};
    const program tried = random.make_symmetric();
    plan by{.how = random.make_settings(), .workers = 1, .memory_bytes = std::size_t{1} << 28U};
    if (seed % 3 == 0) by.how.preemptions = static_cast<unsigned>(seed % 2 + 1);
    if (seed % 7 == 0) by.how.old_reads = 1;
    const std::string text = difference(tried, by);
    if (text.empty()) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << text;
  }
}

std::uint64_t completed(const client_maker& make, bool exchanges) {
  const settings how{.forgets_past = false};
  const found all = explore(make, {.how = how, .exchanges = exchanges, .workers = 1});
  EXPECT_TRUE(all.passed()) << all.what;
  return all.executions - all.cut;
}

/// Every order in which four threads draw tickets, or in which three come into a queue whose nodes
/// are in the threads or belong to the process, becomes every other one.
TEST(Symmetry, leaves_one_of_all_exchanged_executions) {
  for (const auto& [name, threads, exchanges] : {std::tuple{"ticket_spinlock", 4U, 24U},
                                                 {"mcs_lock", 3U, 6U},
                                                 {"queued_spinlock", 3U, 6U},
                                                 {"queued_spinlock_reuse", 3U, 2U}}) {
    const checker::checked_client& of = *checker::find_client(name);
    client_size size = of.size;
    size.threads = threads;
    const client_maker make = of.make(size);
    EXPECT_EQ(completed(make, false), exchanges * completed(make, true)) << name;
  }
}

/// The stores of three threads have six modification orders.
TEST(Symmetry, sorts_stores_by_modification_order) {
  const program stores(3, {{action::store, 0, std::memory_order_relaxed, 1, 0}});
  std::set<outcome> outcomes;
  const client_maker make = [&] { return std::make_unique<random_client>(stores, outcomes); };
  EXPECT_EQ(completed(make, false), 6U);
  EXPECT_EQ(completed(make, true), 1U);
}

/// A failure for no reason is the step that shows that the threads are out of order, too.
TEST(Symmetry, leaves_out_failures_for_no_reason_of_exchanged_threads) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const program attempts(
      2, {{action::compare_weakly, 0, relaxed, 0, 0}, {action::compare_weakly, 0, relaxed, 0, 0}});
  std::set<outcome> outcomes;
  const client_maker make = [&] { return std::make_unique<random_client>(attempts, outcomes); };
  // One execution is its own counterpart: all attempts fail, and read the first value.
  const std::uint64_t all = completed(make, false);
  EXPECT_EQ(completed(make, true), (all + 1) / 2);
  EXPECT_EQ(all % 2, 1U);
}

/// The search would take the first thread for the one that comes first.
class numbered_client : public client {
 public:
  explicit numbered_client(bool asks_world) : asks_world_{asks_world} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return asks_world_ ? 0 : index;
  }
  void thread(unsigned index) override {
    const std::uintptr_t number = asks_world_ ? model::thread_key() - 1 : index;
    if (word_.exchange(1, std::memory_order_relaxed) == 0) first_.write(number);
  }
  void finish() override { require(first_.read() == 0, "the first thread comes first"); }

 private:
  bool asks_world_;
  word<unsigned> word_{0};
  plain_data<std::uintptr_t> first_{0};
};

TEST(Symmetry, is_given_up_where_threads_ask_for_their_numbers) {
  for (const bool asks_world : {false, true}) {
    for (const auto& preemptions : {std::optional<unsigned>{}, std::optional{1U}}) {
      const client_maker make = [&] { return std::make_unique<numbered_client>(asks_world); };
      plan by{.workers = 1};
      by.how.preemptions = preemptions;
      const found result = explore(make, by);
      EXPECT_EQ(result.result, verdict::assertion);
      EXPECT_EQ(replay(make, by.how, result.replay).result, verdict::assertion);
    }
  }
}

/// Two threads of a client that it calls interchangeable.
struct pair_of_threads {
  thread_index one;
  thread_index other;

  [[nodiscard]] thread_index exchanged(thread_index which) const {
    return which == one ? other : which == other ? one : which;
  }
};

/// Runs a random execution. With `names`, the threads that it stands for run.
void run_randomly(execution& runs, const client_maker& make, unsigned seed,
                  const pair_of_threads& names) {
  std::minstd_rand random{seed};
  choices list;
  list.be_random(random());
  runs.scheduler = [&](std::span<const thread_index> runnable) {
    std::vector<std::pair<thread_index, unsigned>> named;
    for (unsigned i = 0; i < runnable.size(); ++i) {
      named.emplace_back(names.exchanged(runnable[i]), i);
    }
    std::ranges::sort(named);
    return named[random() % named.size()].second;
  };
  runs.run(make, list, [](const reached_state&) { return true; });
}

/// The threads that the client calls interchangeable; none if the search has found that it tells
/// them apart.
std::vector<pair_of_threads> interchangeable(const client_maker& make, const settings& how) {
  std::vector<pair_of_threads> all;
  const client_maker noted = [&] {
    auto made = make();
    all.clear();
    for (thread_index i = 1; i < made->threads(); ++i) {
      for (thread_index j = 0; j < i; ++j) {
        if (made->symmetry_class(i) == made->symmetry_class(j)) all.push_back({j, i});
      }
    }
    return made;
  };
  const conflicts none{.has_unordered = true};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    execution runs{how};
    runs.reduce_by(&none);
    run_randomly(runs, noted, seed, {});
    if (all.empty() || (runs.learned() && runs.learned()->tells_threads_apart)) return {};
  }
  return all;
}

/// The steps of each thread in a random execution, as operations and places in the source.
std::array<std::string, max_threads> steps_of(const client_maker& make, const settings& how,
                                              unsigned seed, const pair_of_threads& names) {
  trace lines;
  execution runs{how};
  runs.trace_to(&lines);
  run_randomly(runs, make, seed, names);
  std::array<std::string, max_threads> steps;
  for (const trace_line& each : lines) {
    steps[names.exchanged(static_cast<thread_index>(each.thread))] +=
        each.kind + " " + each.order + " " + file_name(each.where.file_name()) + ":" +
        std::to_string(each.where.line()) + " of " + std::to_string(each.others.size()) + "; ";
  }
  return steps;
}

/// A client that gives a part of its own to one of several threads that it calls interchangeable
/// has executions that it does not have with these threads exchanged.
TEST(Symmetry, exchanged_threads_make_the_same_steps) {
  unsigned pairs = 0;
  for (const checker::checked_client& each : checker::all_clients()) {
    std::vector<client_size> sizes{each.size};
    if (each.of == checker::group::lock) {
      sizes = {{.threads = 3, .lock_has = each.size.lock_has},
               {.threads = 3, .tries = each.offers_try, .lock_has = each.size.lock_has},
               {.threads = 3, .timed = each.offers_timed, .lock_has = each.size.lock_has}};
    }
    for (const client_size& size : sizes) {
      const client_maker make = each.make(size);
      settings how = each.how;
      how.preemptions.reset();
      for (const pair_of_threads& names : interchangeable(make, how)) {
        ++pairs;
        for (unsigned seed = 1; seed <= 3; ++seed) {
          EXPECT_EQ(steps_of(make, how, seed, {}), steps_of(make, how, seed, names))
              << each.name << ", threads " << +names.one << " and " << +names.other;
        }
      }
    }
  }
  EXPECT_GT(pairs, 100U);
}

}  // namespace
}  // namespace lockyard::model::testing
