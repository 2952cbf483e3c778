// SPDX-License-Identifier: Apache-2.0

// Waits that miss what they wait for, loops that pause, and compare-exchanges that fail for no
// reason: which executions are searched, and what is called a hang.

#include "litmus/litmus.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>

namespace lockyard::model {
namespace {

using order = std::memory_order;
constexpr auto rlx = order::relaxed;
constexpr auto acq = order::acquire;
constexpr auto rel = order::release;

constexpr auto is_one = [](unsigned value) noexcept { return value == 1; };

/// What the threads of a test share; each execution that ends notes its outcome.
struct bench {
  word<unsigned> x{0};
  word<unsigned> y{0};
  unsigned r = 0;
};

template <auto... Threads>
class outcome_client : public client {
 public:
  explicit outcome_client(std::set<unsigned>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return sizeof...(Threads); }
  void thread(unsigned index) override {
    unsigned i = 0;
    static_cast<void>(((i++ == index ? (Threads(bench_), true) : false) || ...));
  }
  void finish() override { outcomes_.insert(bench_.r); }

 private:
  std::set<unsigned>& outcomes_;
  bench bench_;
};

struct outcome {
  found result;
  std::set<unsigned> values;
};

template <auto... Threads>
outcome all_of(settings how = {}) {
  outcome all;
  all.result = explore([&] { return std::make_unique<outcome_client<Threads...>>(all.values); },
                       {.how = how, .workers = 1});
  return all;
}

#define EXPECT_EXHAUSTIVE(of)                                                   \
  EXPECT_EQ((of).result.result, verdict::passed) << (of).result.what << "\n"    \
                                                 << to_text((of).result.steps); \
  EXPECT_EQ((of).result.left_out, "");                                          \
  EXPECT_EQ((of).result.bounded, "")

// Waits that miss their value

constexpr auto await_x = [](bench& t) {
  t.r = model::await(t.x, is_one, acq, wait_policies::busy{});
};
constexpr auto set_then_reset = [](bench& t) {
  t.x.store(1, rel);
  t.x.store(0, rel);
};

TEST(Await, hangs_where_it_may_miss_its_value) {
  EXPECT_EQ((all_of<await_x, set_then_reset>().result.result), verdict::hang);
}

TEST(Await, does_not_hang_where_its_value_stays) {
  const auto stays = [](bench& t) {
    t.x.store(0, rel);
    t.x.store(1, rel);
  };
  EXPECT_EXHAUSTIVE((all_of<await_x, stays>()));
}

TEST(Await, does_not_hang_where_the_value_goes_only_after_it_was_seen) {
  const auto sees = [](bench& t) {
    model::await(t.x, is_one, acq, wait_policies::busy{});
    t.y.store(1, rel);
  };
  const auto resets = [](bench& t) {
    t.x.store(1, rel);
    model::await(t.y, is_one, acq, wait_policies::busy{});
    t.x.store(0, rel);
  };
  EXPECT_EXHAUSTIVE((all_of<sees, resets>()));
}

/// A barrier of three that its first leaver resets.
constexpr auto arrive = [](bench& t) {
  if (t.x.fetch_add(1, order::acq_rel) == 2) {
    t.y.store(1, rel);
  } else {
    model::await(t.y, is_one, acq, wait_policies::busy{});
    t.y.store(0, rel);
  }
};

TEST(Await, hangs_in_a_barrier_that_its_first_leaver_resets) {
  EXPECT_EQ((all_of<arrive, arrive, arrive>().result.result), verdict::hang);
}

TEST(Await, lets_a_deadline_pass_where_others_can_only_read_old_values) {
  // T0 may miss the value; it is set again after a deadline, which passes eventually.
  const auto sets_again = [](bench& t) {
    set_then_reset(t);
    model::await(t.y, is_one, acq, wait_policies::busy{},
                 model::deadline_after(std::chrono::milliseconds{1}));
    t.x.store(1, rel);
  };
  const auto all = all_of<await_x, sets_again>({.timeouts = 0});
  EXPECT_EQ(all.result.result, verdict::passed) << all.result.what;
  EXPECT_EQ(all.result.left_out, "");
}

// Loops that pause

/// Leaves when it sees that either word has changed; what it sees after a pause is the outcome.
constexpr auto spin_on_both = [](bench& t) {
  bool has_paused = false;
  for (;;) {
    const unsigned x = t.x.load(rlx);
    const unsigned y = t.y.load(rlx);
    if (x + y != 0) {
      t.r = has_paused ? x * 2 + y : 0;
      return;
    }
    has_paused = true;
    model::pause();
  }
};

TEST(Pause, does_not_refresh_words_that_others_changed_too) {
  const auto set_both = [](bench& t) {
    t.x.store(1, rlx);
    t.y.store(1, rlx);
  };
  const auto all = all_of<spin_on_both, set_both>();
  EXPECT_EXHAUSTIVE(all);
  EXPECT_EQ(all.values, (std::set{0U, 1U, 2U, 3U}));
}

TEST(Pause, leaves_old_values_of_a_second_word_to_what_follows) {
  const auto waits = [](bench& t) {
    t.r = t.y.load(rlx);
    while (t.x.load(rlx) == 0) model::pause();
    t.r = t.r * 2 + t.y.load(rlx);
  };
  const auto sets = [](bench& t) {
    t.y.store(1, rlx);
    t.x.store(1, rlx);
  };
  const auto all = all_of<waits, sets>();
  EXPECT_EXHAUSTIVE(all);
  EXPECT_EQ(all.values, (std::set{0U, 1U, 3U}));
}

TEST(Pause, hangs_where_nothing_changes_any_more) {
  const auto waits = [](bench& t) {
    while (t.x.load(rlx) == 0) model::pause();
  };
  const auto changes_another = [](bench& t) { t.y.store(1, rlx); };
  EXPECT_EQ((all_of<waits, changes_another>().result.result), verdict::hang);
}

TEST(Pause, is_passed_by_a_loop_that_gives_up) {
  const auto gives_up = [](bench& t) {
    for (unsigned i = 0; i < 3; ++i) {
      if (t.x.load(rlx) != 0) {
        t.r = i;
        return;
      }
      model::pause();
    }
    t.r = 7;
  };
  const auto sets = [](bench& t) { t.x.store(1, rlx); };
  const auto all = all_of<gives_up, sets>();
  EXPECT_EXHAUSTIVE(all);
  EXPECT_EQ(all.values, (std::set{0U, 1U, 2U, 7U}));
}

TEST(Pause, is_passed_by_a_loop_that_gives_up_late_and_the_result_is_bounded) {
  const auto gives_up = [](bench& t) {
    for (unsigned i = 0; i < 1000; ++i) {
      if (t.x.load(rlx) != 0) {
        t.r = 1;
        return;
      }
      model::pause();
    }
    t.r = 7;
  };
  const auto sets = [](bench& t) { t.x.store(1, rlx); };
  const auto all = all_of<gives_up, sets>();
  EXPECT_EQ(all.result.result, verdict::passed) << all.result.what;
  EXPECT_EQ(all.result.left_out, "");
  EXPECT_NE(all.result.bounded.find("spin"), std::string::npos) << all.result.bounded;
  EXPECT_EQ(all.values, (std::set{1U, 7U}));
}

TEST(Pause, outside_a_loop_waits_for_nothing) {
  const auto yields = [](bench& t) {
    t.r = t.x.load(rlx);
    model::yield();
    t.r = t.r * 2 + t.x.load(rlx);
  };
  const auto all = all_of<yields>();
  EXPECT_EXHAUSTIVE(all);
  EXPECT_EQ(all.values, (std::set{0U}));
}

/// Each look is followed by a pause of its own.
constexpr auto look_at_both = [](bench& t) {
  for (;;) {
    if (t.x.load(acq) != 0) break;
    model::pause();
    if (t.y.load(acq) != 0) break;
    model::yield();
  }
  t.r = 1;
};

TEST(Pause, in_two_places_of_a_loop_waits_for_the_words_of_both) {
  const auto sets_one = [](bench& t) { t.x.store(1, rel); };
  const auto sets_other = [](bench& t) { t.y.store(1, rel); };
  EXPECT_EXHAUSTIVE((all_of<look_at_both, sets_one>()));
  EXPECT_EXHAUSTIVE((all_of<look_at_both, sets_other>()));
  const auto all = all_of<look_at_both>();
  EXPECT_EQ(all.result.result, verdict::hang) << all.result.what;
}

TEST(Pause, in_two_places_of_a_loop_that_counts_waits_for_the_words_of_both) {
  const auto counts_looks = [](bench& t) {
    unsigned looks = 0;
    for (;; looks += 2) {
      if (t.x.load(acq) != 0) break;
      model::pause();
      if (t.y.load(acq) != 0) break;
      model::pause();
    }
    t.r = looks < 1'000'000 ? 1 : 2;
  };
  const auto sets_one = [](bench& t) { t.x.store(1, rel); };
  const auto sets_other = [](bench& t) { t.y.store(1, rel); };
  for (const auto& all : {all_of<counts_looks, sets_one>(), all_of<counts_looks, sets_other>()}) {
    EXPECT_EQ(all.result.result, verdict::passed) << all.result.what;
    EXPECT_EQ(all.result.left_out, "");
    EXPECT_EQ(all.values, (std::set{1U}));
  }
}

unsigned turns = 0;  ///< in all executions together

TEST(Pause, of_an_endless_loop_that_counts_is_followed_far_once_for_each_state) {
  const auto counts = [](bench& t) {
    unsigned i = 0;
    for (; t.x.load(acq) == 0; ++i) {
      ++turns;
      model::pause();
    }
    t.r = i > 0 ? 1 : 0;
  };
  const auto adds = [](bench& t) {
    for (unsigned i = 0; i < 3; ++i) t.y.fetch_add(1, order::acq_rel);
  };
  const auto adds_and_sets = [](bench& t) {
    for (unsigned i = 0; i < 3; ++i) t.y.fetch_add(1, order::acq_rel);
    t.x.store(1, rel);
  };
  turns = 0;
  const auto all = all_of<counts, adds, adds_and_sets>();
  EXPECT_EQ(all.result.result, verdict::passed) << all.result.what;
  EXPECT_EQ(all.values, (std::set{0U, 1U}));
  EXPECT_GT(turns, 20'000U);
  EXPECT_LT(turns, 100'000U) << all.result.executions;
}

/// Leaves no difference between two turns of a loop but the one in memory.
[[gnu::noinline]] void clear_stack() {
  volatile std::byte dead[2000] = {};  // NOLINT(*-avoid-c-arrays): an array is not volatile
  static_cast<void>(dead[0]);
}

TEST(Pause, of_a_loop_that_writes_waits_for_nothing) {
  const auto counts = [](bench& t) {
    while (t.x.load(rlx) < 3) {
      t.x.fetch_add(1, rlx);
      clear_stack();
      model::pause();
    }
    t.r = t.x.load(rlx);
  };
  const auto all = all_of<counts>();
  EXPECT_EXHAUSTIVE(all);
  EXPECT_EQ(all.values, std::set{3U});
}

// Failures for no reason

TEST(WeakCompareExchange, behind_a_look_at_the_word_is_no_hang) {
  const auto take = [](bench& t) {
    for (;; model::pause()) {
      unsigned expected = 0;
      if (t.x.load(rlx) == 0 && t.x.compare_exchange_weak(expected, 1, acq, rlx)) break;
    }
  };
  const auto writes_the_same = [](bench& t) { t.x.store(0, rlx); };
  EXPECT_EXHAUSTIVE((all_of<take, writes_the_same>()));
}

constexpr auto take_by_weak = [](bench& t) {
  unsigned expected = 0;
  while (!t.x.compare_exchange_weak(expected, 1, acq, rlx)) {
    expected = 0;
    model::pause();
  }
};

TEST(WeakCompareExchange, in_a_loop_that_pauses_is_no_hang) {
  EXPECT_EXHAUSTIVE((all_of<take_by_weak>()));
}

TEST(WeakCompareExchange, in_a_loop_without_a_pause_is_searched_to_its_end) {
  const auto take = [](bench& t) {
    unsigned expected = 0;
    while (!t.x.compare_exchange_weak(expected, 1, acq, rlx)) expected = 0;
  };
  EXPECT_EXHAUSTIVE((all_of<take>()));
}

TEST(WeakCompareExchange, hangs_where_the_value_does_not_come) {
  const auto all = all_of<take_by_weak, take_by_weak>();
  EXPECT_EQ(all.result.result, verdict::hang) << all.result.what;
}

TEST(WeakCompareExchange, fails_more_than_once_at_one_place) {
  const auto try_three_times = [](bench& t) {
    for (unsigned i = 0; i < 3; ++i) {
      unsigned expected = 0;
      if (t.x.compare_exchange_weak(expected, 0, acq, rlx)) continue;
      ++t.r;
    }
  };
  const auto all = all_of<try_three_times>();
  EXPECT_EXHAUSTIVE(all);
  EXPECT_EQ(all.values, (std::set{0U, 1U, 2U, 3U}));
}

TEST(WeakCompareExchange, that_may_fail_for_ever_is_bounded) {
  const auto count_failures = [](bench& t) {
    unsigned expected = 0;
    unsigned failures = 0;
    while (!t.x.compare_exchange_weak(expected, 1, acq, rlx)) ++failures;
    t.r = failures;
  };
  const auto all = all_of<count_failures>();
  EXPECT_EQ(all.result.result, verdict::passed) << all.result.what;
  EXPECT_EQ(all.result.left_out, "");
  EXPECT_NE(all.result.bounded.find("weak"), std::string::npos) << all.result.bounded;
  EXPECT_GE(all.values.size(), 3U);
}

}  // namespace
}  // namespace lockyard::model
