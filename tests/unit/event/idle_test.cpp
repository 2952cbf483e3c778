// SPDX-License-Identifier: Apache-2.0
#include <lockyard/event/idle.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

constexpr auto is_one = [](std::uint32_t value) { return value == 1; };

/// A spin lasts for so many pauses.
struct idle_world : scripted_world {
  using unwatched = idle_world;  // sleepers in the parking lot are played, too
  static constexpr int longest = 20;

  static deadline spin_limit(
      std::chrono::nanoseconds /*most*/ = std::chrono::nanoseconds::max()) noexcept {
    return deadline{std::chrono::nanoseconds{now_playing.pauses + longest}};
  }
  static bool passed(deadline limit) noexcept {
    return deadline{std::chrono::nanoseconds{now_playing.pauses}} >= limit;
  }

  template <class Atomic, class Predicate, class Policy, class... Deadline>
  static auto await(const Atomic& word, Predicate predicate, std::memory_order order,
                    Policy&& policy, Deadline... limit) noexcept {
    return spinning<idle_world>::await(word, predicate, order, policy, limit...);
  }
};

template <class Idle>
class place {
 public:
  place() { scripted_world::now_playing = {}; }
  static script& played() { return scripted_world::now_playing; }

  /// Waits until `change` has let the word be one.
  template <class Change>
  script wait(Change change) {
    word = 0;
    played() = {};
    played().on_wait = change;
    idle_.wait(word, is_one);
    return played();
  }
  script wait_until_it_has_slept() {
    return wait([this] {
      if (played().waits == 1) becomes_one();
    });
  }
  script wait_for_pauses(int pauses) {
    return wait([this, pauses] {
      if (played().pauses == pauses) becomes_one();
    });
  }
  void becomes_one() {
    word = 1;
    idle_.notify_one();
  }

  std::atomic<std::uint32_t> word{0};

 private:
  typename Idle::template in<idle_world> idle_;
};

TEST(Idle, spin_does_nothing_but_look) {
  scripted_world::now_playing = {};
  std::atomic<std::uint32_t> word{0};
  idle::spin::in<idle_world> of;
  std::thread other{[&word] { word = 1; }};
  of.wait(word, is_one);
  other.join();
  const script& spun = scripted_world::now_playing;
  EXPECT_EQ(spun.pauses + spun.yields + spun.waits, 0);
}

TEST(Idle, pause_and_yield_do_what_they_are_called_by) {
  const script pauses = place<idle::pause>{}.wait_for_pauses(7);
  EXPECT_EQ(pauses.pauses, 7);
  EXPECT_EQ(pauses.yields + pauses.waits, 0);
  place<idle::yield> yields;
  const script yielded = yields.wait([&] {
    if (yields.played().yields == 7) yields.becomes_one();
  });
  EXPECT_EQ(yielded.yields, 7);
  EXPECT_EQ(yielded.pauses + yielded.waits, 0);
}

TEST(Idle, sleep_looks_once_in_each_sleep) {
  place<idle::sleep> of;
  const script slept = of.wait([&] {
    if (of.played().waits == 3) of.becomes_one();
  });
  EXPECT_EQ(slept.waits, 3);
  EXPECT_EQ(slept.wakes, 0) << "no thread is woken";
  EXPECT_EQ(slept.pauses + slept.yields, 0);
}

TEST(Idle, event_sleeps_at_once_and_is_woken) {
  const script slept = place<idle::event>{}.wait_until_it_has_slept();
  EXPECT_EQ(slept.waits, 1);
  EXPECT_EQ(slept.wakes, 1);
  EXPECT_EQ(slept.pauses + slept.yields, 0);
}

TEST(Idle, event_goes_back_to_sleep_where_nothing_has_come) {
  place<idle::event> of;
  const script slept = of.wait([&] {
    if (of.played().waits == 3) of.becomes_one();
  });
  EXPECT_EQ(slept.waits, 3);
}

TEST(Idle, nobody_is_woken_where_nobody_sleeps) {
  place<idle::event> of;
  of.becomes_one();
  EXPECT_EQ(of.played().wakes, 0);
}

TEST(Idle, spin_then_event_spins_first) {
  EXPECT_EQ(place<idle::spin_then_event>{}.wait_for_pauses(5).waits, 0);
  const script slept = place<idle::spin_then_event>{}.wait_until_it_has_slept();
  EXPECT_GT(slept.pauses, 0);
  EXPECT_EQ(slept.waits, 1);
}

}  // namespace
}  // namespace lockyard::testing
