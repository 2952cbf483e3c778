// SPDX-License-Identifier: Apache-2.0
#include "early.hpp"
#include "posix.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace {

// The dynamic linker calls these before the constructors of all libraries.
int in_preinit = -1;
void before_all() {
  in_preinit = early::use_all();
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const preinit)() = before_all;

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Process, entries_work_before_constructors) {
  EXPECT_EQ(in_preinit, 0);
  EXPECT_EQ(early::result_of_constructor, 0);
}

TEST(Process, entries_work_in_the_child_of_a_fork) {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  bool ends = false;
  pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
  posix::thread other{[&] {
    for (bool seen = false; !seen;) {
      pthread_mutex_lock(&busy);
      seen = ends;
      pthread_mutex_unlock(&busy);
    }
  }};
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&busy);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      pthread_mutex_unlock(&busy);
      pthread_mutex_lock(&busy);
      pthread_mutex_unlock(&busy);
      const bool right = pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == EDEADLK &&
                         pthread_mutex_unlock(&mutex) == 0;
      _exit(right ? early::use_all() : 1);
    }
    pthread_mutex_unlock(&busy);
    EXPECT_EQ(status_of(child), 0);
  }
  pthread_mutex_lock(&busy);
  ends = true;
  pthread_mutex_unlock(&busy);
}

std::atomic<bool> is_stopped{false};
std::array<int, 2> go_on{};
void stop(int) {
  is_stopped = true;
  char byte;
  while (read(go_on[0], &byte, 1) != 1) {
  }
}

// A waiter that stands in a signal handler cannot take the lock that the unlock passes to it.
TEST(Process, mutex_on_its_way_to_a_waiter_of_the_parent_is_free_in_the_child) {
  ASSERT_EQ(pipe(go_on.data()), 0);
  signal(SIGUSR2, stop);
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    posix::thread waiter{[&] {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }};
    usleep(20'000);
    is_stopped = false;
    pthread_kill(waiter.handle(), SIGUSR2);
    while (!is_stopped) usleep(1000);
    pthread_mutex_unlock(&mutex);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      timespec limit{};
      clock_gettime(CLOCK_MONOTONIC, &limit);
      limit.tv_sec += 10;
      for (int turn = 0; turn < 2; ++turn) {
        if (pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit) != 0) _exit(1);
        pthread_mutex_unlock(&mutex);
      }
      _exit(0);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_EQ(write(go_on[1], "", 1), 1);
  }
  signal(SIGUSR2, SIG_DFL);
}

TEST(Process, waiters_of_the_parent_are_not_in_the_child) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool waits = false, ready = false;
  posix::thread waiter{[&] {
    pthread_mutex_lock(&mutex);
    waits = true;
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
  }};
  for (bool seen = false; !seen;) {
    pthread_mutex_lock(&mutex);
    seen = waits;
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    pthread_mutex_unlock(&mutex);
    pthread_cond_init(&condition, nullptr);
    bool done = false;
    posix::thread own{[&] {
      pthread_mutex_lock(&mutex);
      while (!done) pthread_cond_wait(&condition, &mutex);
      pthread_mutex_unlock(&mutex);
    }};
    pthread_mutex_lock(&mutex);
    done = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    own.join();
    _exit(0);
  }
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(status_of(child), 0);
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}

TEST(Process, many_threads_come_and_go) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int count = 0;
  for (int i = 0; i < 2000; ++i) {
    posix::thread{[&] {
      pthread_mutex_lock(&mutex);
      ++count;
      pthread_mutex_unlock(&mutex);
    }}.join();
  }
  EXPECT_EQ(count, 2000);
}

}  // namespace
