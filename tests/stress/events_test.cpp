// SPDX-License-Identifier: Apache-2.0

// Events under the threads of the locks' stress tests, as locks, and as what they are.

#include <lockyard/event/manual_reset_event.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "clients/event_locks.hpp"
#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::microseconds;

template <class Lock>
subject event_subject(const char* name) {
  return subject_of<Lock>({.name = name,
                           .seed_name = "",
                           .kind = lock_kind::ours,
                           .family = lock_family::park,
                           .waiting = waiting::park,
                           .fairness = fairness::none,
                           .timed = true,
                           .origin = ""});
}

std::vector<subject> event_subjects() {
  return {
      event_subject<auto_event_lock<default_world>>("auto_reset_event"),
      event_subject<event_count_lock<default_world>>("event_count"),
      event_subject<event_count_lock<default_world, spinning_event_count>>("spinning_event_count")};
}

class EventLock : public Stress {};
INSTANTIATE_TEST_SUITE_P(Each, EventLock, ::testing::ValuesIn(event_subjects()), name_of);

TEST_P(EventLock, loses_no_update_and_no_waiter) {
  contention crowd{lock(), {.threads = 8, .rounds = scaled(4000)}};
  EXPECT_TRUE(crowd.kept_its_word());
  contention sleepers{lock(), {.rounds = scaled(300), .sleep = microseconds{20}}};
  EXPECT_TRUE(sleepers.kept_its_word());
}

TEST_P(EventLock, loses_nothing_when_time_outs_race_with_notifications) {
  contention team{lock(),
                  {.rounds = scaled(20'000), .hold_turns = 4000, .patience = microseconds{12}}};
  EXPECT_TRUE(team.kept_its_word());
}

/// A notifier and a waiter hand each other turns, so that each wait is ended by the one
/// notification that follows it; a lost one hangs.
template <class Count>
void play_ping_pong(unsigned turns) {
  Count changed;
  std::atomic<unsigned> turn{0};
  std::uint64_t plain = 0;
  const auto play = [&](unsigned first) {
    for (unsigned mine = first; mine < turns; mine += 2) {
      changed.await([&] { return turn.load(std::memory_order_acquire) == mine; });
      ++plain;
      turn.store(mine + 1, std::memory_order_release);
      changed.notify_one();
    }
  };
  std::thread partner{play, 1};
  play(0);
  partner.join();
  EXPECT_EQ(plain, turns);
}

TEST(EventCount, ends_each_wait_by_the_notification_that_follows_it) {
  play_ping_pong<event_count>(scaled(100'000));
  play_ping_pong<spinning_event_count>(scaled(100'000));
}

TEST(ManualResetEvent, lets_all_threads_through_again_and_again) {
  constexpr unsigned threads = 4;
  const unsigned rounds = scaled(20'000);
  manual_reset_event gates[2];
  std::atomic<unsigned> through{0};
  std::uint64_t published = 0;
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      for (unsigned round = 0; round < rounds; ++round) {
        gates[round % 2].wait();
        EXPECT_EQ(published, round + 1);
        through.fetch_add(1, std::memory_order_acq_rel);
      }
    });
  }
  for (unsigned round = 0; round < rounds; ++round) {
    published = round + 1;
    gates[round % 2].set();
    while (through.load(std::memory_order_acquire) != threads * (round + 1)) {
      std::this_thread::yield();
    }
    gates[round % 2].reset();
  }
  for (auto& thread : team) thread.join();
}

/// AddressSanitizer sees a set that comes back to the event.
template <class Event>
void end_events_that_are_being_set(unsigned rounds) {
  std::vector<std::atomic<Event*>> handed(rounds);
  std::thread setter{[&] {
    for (auto& slot : handed) {
      Event* event = nullptr;
      while ((event = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
      event->set();
    }
  }};
  for (auto& slot : handed) {
    const auto event = std::make_unique<Event>();
    slot.store(event.get(), std::memory_order_release);
    event->wait();
  }
  setter.join();
}

TEST(ManualResetEvent, may_be_destroyed_by_whom_it_has_let_through) {
  end_events_that_are_being_set<manual_reset_event>(scaled(20'000));
}
TEST(AutoResetEvent, may_be_destroyed_by_whom_it_has_let_through) {
  end_events_that_are_being_set<auto_reset_event>(scaled(20'000));
}

}  // namespace
}  // namespace lockyard::testing
