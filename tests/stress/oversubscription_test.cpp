// SPDX-License-Identifier: Apache-2.0

// More threads than cores, owners that sleep, and tickets that wrap around meanwhile.

#include <lockyard/park/ticket_mutex.hpp>
#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/spin/ticket_spinlock.hpp>

#include "stress/contention.hpp"
#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Each, EveryLock, ::testing::ValuesIn(sound_subjects()), name_of);

TEST_P(EveryLock, loses_no_update_among_1_to_16_threads_for_each_core) {
  for (unsigned each = 1; each <= 16; each *= 2) {
    const unsigned threads = each * cores();
    contention team{lock(), {.threads = threads, .rounds = scaled(16'000 / threads)}};
    EXPECT_TRUE(team.kept_its_word()) << threads << " threads";
  }
}

TEST_P(EveryLock, loses_no_update_while_owners_sleep) {
  contention team{lock(),
                  {.threads = 6, .rounds = scaled(60), .sleep = std::chrono::microseconds{100}}};
  EXPECT_TRUE(team.kept_its_word());
}

template <class Lock>
void crosses_the_edge() {
  lock_of<Lock> lock;
  contention team{lock, {.rounds = 1000}};
  EXPECT_TRUE(team.kept_its_word());
}

TEST(Tickets, may_wrap_around_while_threads_wait) {
  using world = near_edge<native, 256>;
  crosses_the_edge<basic_ticket_spinlock<world>>();
  crosses_the_edge<basic_ticket_mutex<world>>();
  crosses_the_edge<basic_array_spinlock<world>>();
}

}  // namespace
}  // namespace lockyard::testing
