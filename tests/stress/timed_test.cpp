// SPDX-License-Identifier: Apache-2.0

// Time-outs that come when the lock is released, and sleeps that end for no reason.

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "stress/contention.hpp"
#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::microseconds;

INSTANTIATE_TEST_SUITE_P(Each, TimedLock,
                         ::testing::ValuesIn(sound_subjects([](const lock_traits& traits) {
                           return traits.timed;
                         })),
                         name_of);

/// A million waits over all locks.
TEST_P(TimedLock, loses_nothing_when_time_outs_race_with_unlock) {
  constexpr unsigned threads = 4;
  const auto locks = static_cast<unsigned>(
      sound_subjects([](const lock_traits& traits) { return traits.timed; }).size());
  contention team{lock(),
                  {.threads = threads,
                   .rounds = scaled(1'000'000 / locks / (threads - 1) + 1),
                   .hold_turns = 4000,
                   .patience = microseconds{12}}};
  EXPECT_TRUE(team.kept_its_word());
}

/// The real machine, but for sleeps of which half end at once for no reason.
struct restless_world : derived_world<restless_world, native> {
  template <class... Deadline>
  static wait_result wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          Deadline... limit) noexcept {
    thread_local std::minstd_rand random{
        static_cast<std::uint32_t>(seed() + native::thread_slot())};
    if (random() % 2 == 0) return wait_result::woken;
    return native::wait(word, expected, limit...);
  }
};

class RestlessLock : public Stress {};
INSTANTIATE_TEST_SUITE_P(Spurious, RestlessLock,
                         ::testing::ValuesIn(parking_subjects_in<restless_world>()), name_of);

class RestlessTimedLock : public Stress {};

std::vector<subject> timed_restless_subjects() {
  std::vector<subject> all = parking_subjects_in<restless_world>();
  std::erase_if(all, [](const subject& each) { return !each.traits.timed; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Spurious, RestlessTimedLock,
                         ::testing::ValuesIn(timed_restless_subjects()), name_of);

TEST_P(RestlessLock, loses_no_update_when_sleeps_end_for_no_reason) {
  contention team{lock(), {.rounds = scaled(300), .sleep = microseconds{20}}};
  EXPECT_TRUE(team.kept_its_word());
}

TEST_P(RestlessTimedLock, loses_no_update_when_sleeps_with_time_outs_end_for_no_reason) {
  contention timed{
      lock(), {.rounds = scaled(300), .sleep = microseconds{20}, .patience = microseconds{60}}};
  EXPECT_TRUE(timed.kept_its_word());
}

}  // namespace
}  // namespace lockyard::testing
