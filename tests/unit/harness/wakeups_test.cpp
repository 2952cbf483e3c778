// SPDX-License-Identifier: Apache-2.0

// The kernel's records of wake-ups, of threads that wake each other here.

#include "topology.hpp"
#include "tracing/switches.hpp"

#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <thread>

#include "support/asleep.hpp"

namespace lockyard::harness {
namespace {

/// Two threads of one processor that wake each other in turn. So one of them is asleep, unless it
/// lost the processor on its way there, which may happen each time.
class taking_turns {
 public:
  static constexpr std::uint32_t rounds = 200;

  void run(std::uint32_t me) {
    for (std::uint32_t i = 0; i < rounds; ++i) {
      const std::uint32_t mine = 2 * i + me;
      // order[wait]: acquire; pairs [pass]; as a lock.
      for (std::uint32_t now = turn_.load(std::memory_order_acquire); now < mine;
           now = turn_.load(std::memory_order_acquire)) {
        native::wait(turn_, now);
      }
      // order[pass]: release; pairs [wait]; as a lock.
      turn_.store(mine + 1, std::memory_order_release);
      native::wake(turn_, 1);
    }
  }

 private:
  native::atomic<std::uint32_t> turn_{0};
};

TEST(Wakeups, name_the_thread_that_woke_another_one) {
  wakeup_recorder recorder;
  if (!recorder.why_not().empty()) GTEST_SKIP() << "unavailable here: " << recorder.why_not();
  cpu_set_t before{};
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one{};
  CPU_SET(usable_cpus().front(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  taking_turns turns;
  std::atomic<std::uint32_t> other{0};
  std::atomic<bool> is_recording{false}, takes_turns{false};
  std::thread second{[&] {
    other = native::thread_id();
    is_recording.wait(false);
    takes_turns = true;
    turns.run(1);
  }};
  while (other == 0) std::this_thread::yield();
  recorder.start({other});
  is_recording = true;
  is_recording.notify_all();
  while (!takes_turns) std::this_thread::yield();
  testing::await_sleep_of(other);  // otherwise it might never be asleep when its turn comes
  turns.run(0);
  second.join();
  recorder.stop();
  sched_setaffinity(0, sizeof before, &before);

  std::map<std::uint32_t, thread_history> histories;
  const auto& of_this = histories[native::thread_id()].events;
  const auto& of_other = histories[other].events;
  recorder.add_to(histories, [](std::uint64_t ns) { return ns; });
  EXPECT_TRUE(of_this.empty());  // only the named thread is recorded
  EXPECT_GT(
      std::ranges::count(of_other, std::uint64_t{native::thread_id()}, &trace::event::argument), 0);
  EXPECT_TRUE(std::ranges::is_sorted(of_other, {}, &trace::event::ticks));
}

}  // namespace
}  // namespace lockyard::harness
