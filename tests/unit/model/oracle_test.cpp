// SPDX-License-Identifier: Apache-2.0

// The engine against the rules themselves: random programs have exactly the outcomes, the races and
// the hangs that a brute-force enumeration finds.

#include "oracle.hpp"

#include <model/client.hpp>
#include <model/explorer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

namespace lockyard::oracle {
namespace {

using model::verdict;

struct equals {
  unsigned wanted;
  bool operator()(unsigned value) const noexcept { return value == wanted; }
};

enum class waiting { by_await, by_pause };

/// Runs a program in the checker's world.
class program_client : public model::client {
 public:
  program_client(const program& of, waiting how, std::set<outcome>& outcomes)
      : of_{of}, how_{how}, outcomes_{outcomes} {
    for (const auto& list : of.threads) {
      starts_[threads_++] = slots_;
      slots_ += static_cast<unsigned>(list.size());
    }
  }

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    unsigned slot = starts_[index];
    for (const instruction& each : of_.threads[index]) read_[slot++] = run(each);
  }

  void finish() override {
    outcome all = 0;
    for (unsigned i = 0; i < slots_; ++i) all |= outcome{read_[i]} << 4 * i;
    for (unsigned i = 0; i < words; ++i) {
      all |= outcome{words_[i].load(std::memory_order_relaxed)} << 4 * (slots_ + i);
    }
    outcomes_.insert(all);
  }

 private:
  unsigned run(const instruction& does) {
    auto& word = words_[does.where];
    unsigned expected = does.expected;
    switch (does.does) {
      case operation::load: return word.load(does.order);
      case operation::store: word.store(does.value, does.order); return 0;
      case operation::exchange: return word.exchange(does.value, does.order);
      case operation::compare_exchange: {
        const bool done =
            word.compare_exchange_strong(expected, does.value, does.order, does.failure);
        return expected + (done ? 8 : 0);
      }
      case operation::weak_compare_exchange: {
        const bool done =
            word.compare_exchange_weak(expected, does.value, does.order, does.failure);
        return expected + (done ? 8 : 0);
      }
      case operation::fence: model::model::fence(does.order); return 0;
      case operation::light_fence: model::model::asymmetric_fence_light(); return 0;
      case operation::heavy_fence: model::model::asymmetric_fence_heavy(); return 0;
      case operation::await:
        if (how_ == waiting::by_pause) {
          while (word.load(does.order) != expected) model::model::pause();
          return expected;
        }
        return model::model::await(word, equals{expected}, does.order, wait_policies::busy{});
      case operation::await_exchange:
        if (how_ == waiting::by_pause) {
          while (!word.compare_exchange_weak(expected, does.value, does.order,
                                             std::memory_order_relaxed)) {
            expected = does.expected;
            model::model::pause();
          }
          return expected;
        }
        return model::model::await_exchange(word, does.value, equals{expected}, does.order,
                                            wait_policies::busy{});
      case operation::read_plain: return plain_.read();
      case operation::write_plain: plain_.write(does.value); return 0;
    }
    return 0;
  }

  const program& of_;
  waiting how_;
  std::set<outcome>& outcomes_;
  std::array<model::word<unsigned>, words> words_{};
  model::plain_data<unsigned> plain_{0};
  std::array<unsigned, 16> read_{};
  std::array<unsigned, model::max_threads> starts_{};
  unsigned threads_ = 0;
  unsigned slots_ = 0;
};

/// How the engine and the rules differ; nothing where they agree.
std::string difference(const program& of, waiting how) {
  const verdicts by_rules = all_executions(of);
  std::set<outcome> outcomes;
  const model::found found = model::explore(
      [&] { return std::make_unique<program_client>(of, how, outcomes); },
      {.workers = 1, .memory_bytes = std::size_t{1} << 28U, .on_begin = [&] { outcomes.clear(); }});
  std::string all;
  if (!found.left_out.empty()) all += "left out: " + found.left_out + "\n";
  if (!found.bounded.empty()) all += "bounded: " + found.bounded + "\n";
  // The engine ends at the first failure, of whatever kind.
  const bool fails = found.result == verdict::race || found.result == verdict::hang;
  if (found.result == verdict::race && !by_rules.races) all += "the race is invented\n";
  if (found.result == verdict::hang && !by_rules.hangs) all += "the hang is invented\n";
  if (!fails && by_rules.races) all += "a race is missed\n";
  if (!fails && by_rules.hangs) all += "a hang is missed\n";
  if (!fails && found.result != verdict::passed) all += model::name_of(found.result) + "\n";
  if (!fails && !by_rules.races && outcomes != by_rules.outcomes) {
    all += std::to_string(outcomes.size()) + " outcomes, by the rules " +
           std::to_string(by_rules.outcomes.size()) + "\n";
  }
  return all.empty() ? all : all + to_text(of) + model::to_text(found.steps);
}

/// LOCKYARD_ORACLE_PROGRAMS gives another number of programs than the usual one.
std::uint64_t programs(std::uint64_t usual) {
  const char* const wanted = std::getenv("LOCKYARD_ORACLE_PROGRAMS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

void compare(std::uint64_t count, kinds with, waiting how = waiting::by_await) {
  unsigned differences = 0;
  for (std::uint64_t seed = 1; seed <= count && differences < 5; ++seed) {
    const std::string text = difference(random_program(seed, with), how);
    if (text.empty()) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << text;
  }
}

TEST(Oracle, agrees_on_the_outcomes_and_races_of_random_programs) {
  compare(programs(2000), {});
}

TEST(Oracle, agrees_on_light_and_heavy_fences) {
  compare(programs(2000), {.asymmetric = true});
}

TEST(Oracle, agrees_on_the_hangs_of_random_programs_with_awaits) {
  compare(programs(2000), {.awaits = true});
}

TEST(Oracle, agrees_on_the_hangs_of_random_programs_with_loops_that_pause) {
  compare(programs(2000), {.awaits = true}, waiting::by_pause);
}

}  // namespace
}  // namespace lockyard::oracle
