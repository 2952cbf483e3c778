// SPDX-License-Identifier: Apache-2.0

// Signals that interrupt every sleep, and threads and processes that are stopped anywhere.

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::microseconds;

/// Without SA_RESTART, so that system calls end early.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

std::minstd_rand disturber() {
  return std::minstd_rand{static_cast<std::uint32_t>(seed())};
}

/// Signals random threads of the team, as fast as the kernel can, to the end of the team.
void storm(contention& team) {
  handle(SIGUSR1, [](int) {});
  auto random = disturber();
  while (!team.is_over()) {
    pthread_kill(team.team()[random() % team.team().size()].native_handle(), SIGUSR1);
    sched_yield();
  }
}

TEST_P(EveryLock, loses_no_update_in_a_storm_of_signals) {
  contention team{lock(), {.rounds = scaled(200), .sleep = microseconds{50}}};
  storm(team);
  EXPECT_TRUE(team.kept_its_word());
}

TEST_P(TimedLock, gives_up_no_earlier_in_a_storm_of_signals) {
  contention team{lock(),
                  {.rounds = scaled(200), .sleep = microseconds{50}, .patience = microseconds{80}}};
  storm(team);
  EXPECT_TRUE(team.kept_its_word());
}

/// The thread that gets the signal stays in its handler while this is set.
std::atomic<bool> halt{false};

TEST_P(EveryLock, loses_no_update_while_threads_are_stopped_anywhere) {
  handle(SIGUSR2, [](int) {
    while (halt) sched_yield();
  });
  contention team{lock(), {.rounds = scaled(20'000)}};
  auto random = disturber();
  while (!team.is_over()) {
    halt = true;
    pthread_kill(team.team()[random() % team.team().size()].native_handle(), SIGUSR2);
    std::this_thread::sleep_for(microseconds{random() % 200});
    halt = false;
    std::this_thread::sleep_for(microseconds{random() % 200});
  }
  EXPECT_TRUE(team.kept_its_word());
}

TEST_P(EveryLock, loses_no_update_while_the_process_is_stopped_and_continued) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // one that hangs does not outlive its test
    contention team{lock(), {.rounds = scaled(200), .sleep = microseconds{20}}};
    _exit(team.kept_its_word() ? 0 : 1);
  }
  auto random = disturber();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(microseconds{random() % 500});
    kill(child, SIGCONT);
    std::this_thread::sleep_for(microseconds{random() % 500});
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

}  // namespace
}  // namespace lockyard::testing
