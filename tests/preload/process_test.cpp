// SPDX-License-Identifier: Apache-2.0
#include "early.hpp"
#include "posix.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
