// SPDX-License-Identifier: Apache-2.0
#include "posix.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace {

using posix::elsewhere, posix::mutex_options;

class Types : public testing::TestWithParam<int> {
 protected:
  Types() { EXPECT_EQ(posix::init(&mutex, {.type = GetParam()}), 0); }
  ~Types() override { EXPECT_EQ(pthread_mutex_destroy(&mutex), 0); }
  int try_elsewhere() {
    return elsewhere([&] { return pthread_mutex_trylock(&mutex); });
  }
  bool is_checked() const {
    return GetParam() == PTHREAD_MUTEX_ERRORCHECK || GetParam() == PTHREAD_MUTEX_RECURSIVE;
  }
  pthread_mutex_t mutex;
};
INSTANTIATE_TEST_SUITE_P(Mutex, Types,
                         testing::Values(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                         PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP));

TEST_P(Types, owner_excludes_other_threads) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(try_elsewhere(), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
  EXPECT_EQ(try_elsewhere(), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_P(Types, counter_under_contention_loses_nothing) {
  constexpr int threads = 4, rounds = 20'000;
  int counter = 0;
  {
    std::vector<std::unique_ptr<posix::thread>> all;
    for (int i = 0; i < threads; ++i) {
      all.push_back(std::make_unique<posix::thread>([&] {
        for (int round = 0; round < rounds; ++round) {
          pthread_mutex_lock(&mutex);
          ++counter;
          pthread_mutex_unlock(&mutex);
        }
      }));
    }
  }
  EXPECT_EQ(counter, threads * rounds);
}

TEST_P(Types, only_the_owner_unlocks_checked_types) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  if (is_checked()) {
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_unlock(&mutex); }), EPERM);
  }
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  if (is_checked()) {
    EXPECT_EQ(pthread_mutex_unlock(&mutex), EPERM);
  }
}

TEST_P(Types, second_trylock_of_the_owner_follows_the_type) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  const bool counts = GetParam() == PTHREAD_MUTEX_RECURSIVE;
  EXPECT_EQ(pthread_mutex_trylock(&mutex), counts ? 0 : EBUSY);
  if (counts) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(try_elsewhere(), EBUSY);
  }
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(elsewhere([&] {
              const int first = pthread_mutex_trylock(&mutex);
              return first == 0 ? pthread_mutex_unlock(&mutex) : first;
            }),
            0);
}

TEST_P(Types, timed_waits_end_at_the_limit_of_either_clock) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    for (const timespec limit : {posix::past, posix::long_past, posix::after_ms(clock, 20)}) {
      EXPECT_EQ(elsewhere([&] { return pthread_mutex_clocklock(&mutex, clock, &limit); }),
                ETIMEDOUT);
      const timespec end = posix::now(clock);
      EXPECT_TRUE(end.tv_sec > limit.tv_sec ||
                  (end.tv_sec == limit.tv_sec && end.tv_nsec >= limit.tv_nsec));
    }
  }
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_timedlock(&mutex, &posix::past); }), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_P(Types, timed_wait_gets_a_mutex_that_is_released) {
  for (const timespec limit :
       {posix::after_ms(CLOCK_REALTIME, 1'000'000),
        timespec{.tv_sec = std::numeric_limits<long>::max(), .tv_nsec = 999'999'999}}) {
    ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
    int result = -1;
    posix::thread waiter{[&] {
      result = pthread_mutex_timedlock(&mutex, &limit);
      pthread_mutex_unlock(&mutex);
    }};
    usleep(2000);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    waiter.join();
    EXPECT_EQ(result, 0);
  }
}

TEST_P(Types, limits_matter_only_to_a_thread_that_has_to_wait) {
  ASSERT_EQ(pthread_mutex_timedlock(&mutex, &posix::invalid), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_timedlock(&mutex, &posix::invalid); }), EINVAL);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &posix::past), EINVAL);
}

TEST_P(Types, mutex_in_use_is_not_destroyed) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_P(Types, destroyed_mutex_may_be_initialised_again) {
  ASSERT_EQ(pthread_mutex_destroy(&mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(&mutex), EINVAL);
  ASSERT_EQ(posix::init(&mutex, {.type = GetParam()}), 0);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_P(Types, copy_of_an_unlocked_mutex_is_another_mutex) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_t copy;
  std::memcpy(&copy, &mutex, sizeof copy);
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(elsewhere([&] {
              const int first = pthread_mutex_trylock(&copy);
              return first == 0 ? pthread_mutex_unlock(&copy) : first;
            }),
            0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_P(Types, debuggers_find_the_owner) {
  int owner = 0;
  const auto read = [&] { std::memcpy(&owner, reinterpret_cast<char*>(&mutex) + 8, sizeof owner); };
  pthread_mutex_lock(&mutex);
  read();
  EXPECT_EQ(owner, syscall(SYS_gettid));
  pthread_mutex_unlock(&mutex);
  elsewhere([&] {
    pthread_mutex_lock(&mutex);
    read();
    EXPECT_EQ(owner, syscall(SYS_gettid));
    return pthread_mutex_unlock(&mutex);
  });
  pthread_mutex_lock(&mutex);
  read();
  EXPECT_EQ(owner, syscall(SYS_gettid));
  pthread_mutex_unlock(&mutex);
  read();
  if (is_checked()) {
    EXPECT_EQ(owner, 0);
  }
}

TEST(Mutex, errorcheck_reports_the_deadlock_with_oneself) {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(&mutex), EDEADLK);
  EXPECT_EQ(pthread_mutex_timedlock(&mutex, &posix::past), EDEADLK);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST(Mutex, normal_mutex_waits_for_oneself_until_the_limit) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  const timespec limit = posix::after_ms(CLOCK_REALTIME, 20);
  EXPECT_EQ(pthread_mutex_timedlock(&mutex, &limit), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST(Mutex, static_initialisers_have_their_types) {
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), EPERM);
  EXPECT_EQ(pthread_mutex_lock(&adaptive), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(&adaptive); }), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&adaptive), 0);
}

TEST(Mutex, robust_mutex_survives_its_owner) {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    pthread_mutex_t mutex;
    ASSERT_EQ(posix::init(&mutex, {.type = type, .robust = PTHREAD_MUTEX_ROBUST}), 0);
    elsewhere([&] { return pthread_mutex_lock(&mutex); });
    EXPECT_EQ(pthread_mutex_lock(&mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_consistent(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

TEST(Mutex, inheriting_mutex_excludes) {
  pthread_mutex_t mutex;
  ASSERT_EQ(posix::init(&mutex, {.protocol = PTHREAD_PRIO_INHERIT}), 0);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(&mutex); }), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

TEST(Mutex, shared_mutex_excludes_other_processes) {
  struct both {
    pthread_mutex_t mutex;
    int counter;
  };
  void* const place =
      mmap(nullptr, sizeof(both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  both& shared = *new (place) both{};
  ASSERT_EQ(posix::init(&shared.mutex, {.shared = PTHREAD_PROCESS_SHARED}), 0);
  const auto count = [&] {
    for (int i = 0; i < 20'000; ++i) {
      pthread_mutex_lock(&shared.mutex);
      ++shared.counter;
      pthread_mutex_unlock(&shared.mutex);
    }
  };
  const pid_t child = fork();
  if (child == 0) {
    count();
    _exit(0);
  }
  count();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared.counter, 40'000);
  munmap(place, sizeof(both));
}

TEST(C11, mutexes_follow_their_types) {
  mtx_t plain, recursive;
  ASSERT_EQ(mtx_init(&plain, mtx_timed), thrd_success);
  ASSERT_EQ(mtx_init(&recursive, mtx_timed | mtx_recursive), thrd_success);
  EXPECT_EQ(mtx_lock(&plain), thrd_success);
  EXPECT_EQ(mtx_trylock(&plain), thrd_busy);
  EXPECT_EQ(mtx_timedlock(&plain, &posix::past), thrd_timedout);
  EXPECT_EQ(mtx_lock(&recursive), thrd_success);
  EXPECT_EQ(mtx_trylock(&recursive), thrd_success);
  EXPECT_EQ(mtx_unlock(&recursive), thrd_success);
  EXPECT_EQ(elsewhere([&] { return mtx_trylock(&recursive); }), thrd_busy);
  EXPECT_EQ(mtx_unlock(&recursive), thrd_success);
  EXPECT_EQ(mtx_unlock(&recursive), thrd_error);
  EXPECT_EQ(mtx_unlock(&plain), thrd_success);
  mtx_destroy(&plain);
  mtx_destroy(&recursive);
}

}  // namespace
