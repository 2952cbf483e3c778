// SPDX-License-Identifier: Apache-2.0

// Loops that wait for plain data: a race with the thread that writes it, or a hang without one.

#include <model/client.hpp>
#include <model/explorer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>

namespace lockyard::model {
namespace {

constexpr auto rlx = std::memory_order_relaxed;
constexpr auto rel = std::memory_order_release;
constexpr auto acq = std::memory_order_acquire;

struct bench {
  plain_data<unsigned> flag{0};
  plain_data<unsigned> other{0};
  word<unsigned> x{0};
  word<unsigned> y{0};
};

using part = void (*)(bench& t);

class two_parts : public client {
 public:
  two_parts(part first, part second) : parts_{first, second} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override { parts_[index](bench_); }

 private:
  std::array<part, 2> parts_;
  bench bench_;
};

/// The same whichever of the two is the first thread.
verdict verdict_of(part one, part other) {
  const auto explored = [](part first, part second) {
    const found all = explore([=] { return std::make_unique<two_parts>(first, second); },
                              {.workers = 1, .seconds = 20});
    EXPECT_TRUE(all.result != verdict::passed || (all.left_out + all.bounded).empty())
        << all.left_out << all.bounded;
    return all.result;
  };
  const verdict found = explored(one, other);
  EXPECT_EQ(explored(other, one), found);
  return found;
}

constexpr part writes = [](bench& t) { t.flag.write(1); };
[[gnu::noinline]] void add_one(plain_data<unsigned>& to) {
  to.write(to.read() + 1);
}
/// Leaves no difference between two turns but the one in memory.
[[gnu::noinline]] void clear_stack() {
  volatile std::byte dead[2000] = {};  // NOLINT(*-avoid-c-arrays): an array is not volatile
  static_cast<void>(dead[0]);
}
constexpr part does_nothing = [](bench&) {};

TEST(PlainLoop, races_with_the_thread_that_writes_the_data) {
  const part spins = [](bench& t) {
    while (t.flag.read() == 0) {
    }
  };
  EXPECT_EQ(verdict_of(spins, writes), verdict::race);
}

TEST(PlainLoop, hangs_where_no_thread_writes_the_data) {
  const part reads_twice = [](bench& t) {
    while (t.flag.read() == 0 && t.flag.read() == 0) {
    }
  };
  EXPECT_EQ(verdict_of(reads_twice, does_nothing), verdict::hang);
  const part spins = [](bench& t) {
    while (t.flag.read() == 0 && t.other.read() == 0) {
    }
  };
  EXPECT_EQ(verdict_of(spins, does_nothing), verdict::hang);
}

TEST(PlainLoop, races_though_it_has_fences) {
  const part spins = [](bench& t) {
    while (t.flag.read() == 0) model::fence(std::memory_order_seq_cst);
  };
  EXPECT_EQ(verdict_of(spins, writes), verdict::race);
  EXPECT_EQ(verdict_of(spins, does_nothing), verdict::hang);
}

TEST(PlainLoop, races_though_it_pauses) {
  const part spins = [](bench& t) {
    while (t.flag.read() == 0) model::pause();
  };
  EXPECT_EQ(verdict_of(spins, writes), verdict::race);
  EXPECT_EQ(verdict_of(spins, does_nothing), verdict::hang);
}

TEST(PlainLoop, races_though_it_counts) {
  const part spins = [](bench& t) {
    unsigned turns = 0;
    while (t.flag.read() == 0) ++turns;
    t.x.store(turns, rlx);
  };
  EXPECT_EQ(verdict_of(spins, writes), verdict::race);
  const part pauses = [](bench& t) {
    for (unsigned i = 0; t.flag.read() == 0; ++i) model::pause();
  };
  EXPECT_EQ(verdict_of(pauses, writes), verdict::race);
  EXPECT_EQ(verdict_of(pauses, does_nothing), verdict::hang);
}

TEST(PlainLoop, races_or_hangs_behind_a_spin_that_counts_and_gives_up) {
  const part spins = [](bench& t) {
    for (unsigned i = 0; i < 20 && t.x.load(rlx) == 0; ++i) model::pause();
    while (t.flag.read() == 0) {
    }
  };
  EXPECT_EQ(verdict_of(spins, writes), verdict::race);
  EXPECT_EQ(verdict_of(spins, does_nothing), verdict::hang);
}

TEST(PlainLoop, that_fails_for_no_reason_races_with_a_later_write) {
  const part tries = [](bench& t) {
    unsigned expected = 0;
    for (; !t.x.compare_exchange_weak(expected, 1, acq, rlx); clear_stack()) {
      static_cast<void>(t.flag.read());
    }
  };
  const part reads_then_writes = [](bench& t) {
    static_cast<void>(t.y.load(rlx));
    t.flag.write(1);
  };
  EXPECT_EQ(verdict_of(tries, reads_then_writes), verdict::race);
}

TEST(PlainLoop, that_ends_is_searched_to_its_end) {
  const part counts = [](bench& t) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 15'000; ++i) sum += t.flag.read();
    t.x.store(1 + sum, rel);
    for (; t.other.read() < 40; clear_stack()) add_one(t.other);
  };
  const part waits = [](bench& t) {
    while (t.x.load(acq) == 0) model::pause();
    t.flag.write(1);
  };
  EXPECT_EQ(verdict_of(counts, waits), verdict::passed);
}

TEST(PlainLoop, that_looks_at_a_word_too_goes_on) {
  const part waits = [](bench& t) {
    while (t.flag.read() + t.x.load(rlx) == 0) model::pause();
  };
  const part sets = [](bench& t) { t.x.store(1, rlx); };
  EXPECT_EQ(verdict_of(waits, sets), verdict::passed);
}

TEST(PlainLoop, that_no_longer_counts_its_looks_at_a_word_goes_on) {
  const part waits = [](bench& t) {
    unsigned looks = 0;
    while (t.x.load(rlx) == 0) {
      if (t.flag.read() == 0 && looks < 50) ++looks;
      model::pause();
    }
  };
  const part sets = [](bench& t) { t.x.store(1, rlx); };
  const found all =
      explore([=] { return std::make_unique<two_parts>(waits, sets); }, {.seconds = 20});
  EXPECT_EQ(all.result, verdict::passed) << all.what;
}

TEST(PlainLoop, that_ends_by_a_failure_for_no_reason_goes_on) {
  const part tries = [](bench& t) {
    unsigned expected = 0;
    while (t.flag.read() == 0 && !t.x.compare_exchange_weak(expected, 1, acq, rlx)) {
      expected = 0;
      model::pause();
    }
  };
  EXPECT_EQ(verdict_of(tries, does_nothing), verdict::passed);
}

}  // namespace
}  // namespace lockyard::model
