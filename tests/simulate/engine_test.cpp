// SPDX-License-Identifier: Apache-2.0

// What single operations cost, and when their effects happen.

#include "machines.hpp"

#include "simulate/schedulers/real_time.hpp"
#include "simulate/world.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <new>

namespace lockyard::simulation {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

class Engine : public testing::Test {
 protected:
  Engine() : on{machine{flat(4), cost()}, gaps{}, std::make_unique<real_time>(0), 1} {}

  static costs cost() {
    costs exact = plausible();
    exact.arbitration_share = 0;
    exact.tick_ns = 0;
    return exact;
  }
  thread& spawn(std::function<void()> body, int processor) {
    return on.spawn(std::move(body), processor, 0);
  }
  ps time_of(const std::function<void()>& work) const {
    const ps began = on.now();
    work();
    return on.now() - began;
  }

  engine on;
  struct alignas(64) line {
    simulated::atomic<std::uint32_t> word{0};
  };
  line& shared = on.memory().make<line>();
  line& other = on.memory().make<line>();
};

TEST(Gaps, have_the_lengths_that_were_measured_as_often_as_measured) {
  const gaps some{.every_ns = 1, .least_ns = 1, .most_ns = 100, .measured = {{5, 0.25}, {70, 1}}};
  EXPECT_EQ(some.length_ns(0), 5);
  EXPECT_EQ(some.length_ns(0.25), 5);
  EXPECT_EQ(some.length_ns(0.26), 70);
  EXPECT_EQ(some.length_ns(0.999), 70);
  const gaps between{.every_ns = 1, .least_ns = 1, .most_ns = 100};
  EXPECT_NEAR(between.length_ns(0.5), 10, 1e-9);
}

/// Throws while an event is handled, which happens on the stack of a thread.
struct failing : real_time {
  failing() : real_time{0} {}
  bool tick(thread& /*current*/, int /*processor*/) override { throw std::bad_alloc{}; }
};

TEST(FailingEngine, throws_out_of_its_run_what_an_event_throws) {
  engine on{machine{flat(1), plausible()}, gaps{}, std::make_unique<failing>(), 1};
  on.spawn([&] { on.compute(static_cast<ps>(plausible().tick_ns) * ns * 3); }, 0, 0);
  EXPECT_THROW(on.run(never), std::bad_alloc);
}

TEST_F(Engine, second_read_of_a_line_is_a_hit) {
  ps first = 0, second = 0;
  spawn(
      [&] {
        first = time_of([&] { shared.word.load(relaxed); });
        second = time_of([&] { shared.word.load(relaxed); });
      },
      0);
  on.run(1 * ms);
  EXPECT_EQ(first, 30 * ns);
  EXPECT_EQ(second, 1 * ns);
}

TEST_F(Engine, exchange_of_another_ones_line_takes_a_hop_and_of_the_own_line_does_not) {
  ps first = 0, second = 0, remote = 0;
  spawn(
      [&] {
        first = time_of([&] { shared.word.exchange(1, relaxed); });
        second = time_of([&] { shared.word.exchange(2, relaxed); });
      },
      0);
  spawn(
      [&] {
        on.compute(10 * us);
        remote = time_of([&] { shared.word.exchange(3, relaxed); });
      },
      1);
  on.run(1 * ms);
  EXPECT_EQ(first, 35 * ns);
  EXPECT_EQ(second, 5 * ns);
  EXPECT_EQ(remote, 35 * ns);
}

TEST_F(Engine, store_retires_at_once_and_is_visible_later) {
  ps store = 0;
  std::uint32_t seen_early = 9, seen_late = 9;
  spawn([&] { shared.word.exchange(1, relaxed); }, 0);
  spawn(
      [&] {
        on.compute(10 * us);
        store = time_of([&] { shared.word.store(2, relaxed); });
        seen_early = shared.word.peek();
        on.compute(1 * us);
        seen_late = shared.word.peek();
      },
      1);
  on.run(1 * ms);
  EXPECT_EQ(store, 1 * ns);
  EXPECT_EQ(seen_early, 1U);
  EXPECT_EQ(seen_late, 2U);
}

TEST_F(Engine, spinner_sees_a_change_one_hop_after_it_at_the_earliest) {
  ps changed_at = 0, seen_at = 0;
  spawn(
      [&] {
        simulated::await(
            shared.word, [](std::uint32_t value) { return value == 7; }, relaxed,
            wait_policies::pausing{});
        seen_at = on.now();
      },
      0);
  spawn(
      [&] {
        on.compute(10 * us);
        shared.word.exchange(7, relaxed);
        changed_at = on.now();
      },
      1);
  on.run(1 * ms);
  EXPECT_GE(seen_at - changed_at, 30 * ns);
  EXPECT_LE(seen_at - changed_at, 30 * ns + 11 * ns + 4 * ns + 1 * ns);
}

TEST_F(Engine, await_with_a_deadline_ends_there) {
  ps began = 0, ended = 0;
  bool found = true;
  spawn(
      [&] {
        began = on.now();
        const auto limit = simulated::deadline_after(std::chrono::microseconds{50});
        found = simulated::await(
                    shared.word, [](std::uint32_t value) { return value == 7; }, relaxed,
                    wait_policies::pausing{}, limit)
                    .has_value();
        ended = on.now();
      },
      0);
  on.run(1 * ms);
  EXPECT_FALSE(found);
  EXPECT_NEAR(static_cast<double>(ended - began), 50 * us, 100 * ns);
}

TEST_F(Engine, sleepers_wake_in_order_of_arrival_and_time_outs_end_sleep) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    spawn(
        [&, i] {
          on.compute((i + 1) * us);
          simulated::wait(shared.word, 0);
          order.push_back(i);
        },
        i);
  }
  auto timed = simulated::wait_result::woken;
  spawn(
      [&] {
        on.compute(20 * us);
        timed = simulated::wait(other.word, 0,
                                simulated::deadline_after(std::chrono::microseconds{10}));
        for (int i = 0; i < 3; ++i) {
          simulated::wake(shared.word, 1);
          on.compute(50 * us);
        }
      },
      3);
  on.run(10 * ms);
  EXPECT_EQ(timed, simulated::wait_result::timed_out);
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST_F(Engine, wait_returns_at_once_if_the_word_has_changed) {
  auto result = simulated::wait_result::woken;
  spawn([&] { result = simulated::wait(shared.word, 5); }, 0);
  on.run(1 * ms);
  EXPECT_EQ(result, simulated::wait_result::changed);
}

TEST_F(Engine, requeued_sleepers_wake_at_the_other_word) {
  int woken = 0;
  for (int i = 0; i < 3; ++i) {
    spawn(
        [&] {
          simulated::wait(shared.word, 0);
          ++woken;
        },
        i);
  }
  int after_requeue = -1;
  spawn(
      [&] {
        on.compute(20 * us);
        EXPECT_EQ(simulated::requeue(shared.word, 0, 1, 8, other.word), 3U);
        on.compute(100 * us);
        after_requeue = woken;
        simulated::wake(other.word, 8);
      },
      3);
  on.run(10 * ms);
  EXPECT_EQ(after_requeue, 1);
  EXPECT_EQ(woken, 3);
}

}  // namespace

}  // namespace lockyard::simulation
