// SPDX-License-Identifier: Apache-2.0
#include "posix.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

using posix::elsewhere, posix::mutex_options;

/// A condition that a thread waits for, with a mutex of any kind.
struct scene {
  explicit scene(mutex_options options = {}, clockid_t clock = CLOCK_REALTIME) {
    EXPECT_EQ(posix::init(&mutex, options), 0);
    EXPECT_EQ(posix::init(&condition, clock), 0);
  }
  ~scene() {
    EXPECT_EQ(pthread_cond_destroy(&condition), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

  /// Waits as programs do, and returns the last result.
  int wait_for(int wanted) {
    int result = pthread_mutex_lock(&mutex);
    ++waiting;
    while (result == 0 && value < wanted) result = pthread_cond_wait(&condition, &mutex);
    --waiting;
    pthread_mutex_unlock(&mutex);
    return result;
  }
  void await_waiters(int count) {
    for (bool all = false; !all; usleep(500)) {
      pthread_mutex_lock(&mutex);
      all = waiting >= count;
      pthread_mutex_unlock(&mutex);
    }
  }
  void set(int to) {
    pthread_mutex_lock(&mutex);
    value = to;
    pthread_mutex_unlock(&mutex);
  }

  pthread_mutex_t mutex;
  pthread_cond_t condition;
  int value = 0, waiting = 0;
};

struct kind {
  const char* name;
  mutex_options options;
};
void PrintTo(const kind& of, std::ostream* out) {
  *out << of.name;
}
class Waits : public testing::TestWithParam<kind>, protected scene {
 protected:
  Waits() : scene{GetParam().options} {}
};
const kind checked[] = {{"recursive", {.type = PTHREAD_MUTEX_RECURSIVE}},
                        {"errorcheck", {.type = PTHREAD_MUTEX_ERRORCHECK}}};
constexpr auto name_of_kind = [](const auto& of) { return std::string{of.param.name}; };

INSTANTIATE_TEST_SUITE_P(Condition, Waits,
                         testing::Values(kind{"normal", {}}, checked[0], checked[1],
                                         kind{"adaptive", {.type = PTHREAD_MUTEX_ADAPTIVE_NP}},
                                         kind{"robust", {.robust = PTHREAD_MUTEX_ROBUST}},
                                         kind{"shared", {.shared = PTHREAD_PROCESS_SHARED}},
                                         kind{"inheriting", {.protocol = PTHREAD_PRIO_INHERIT}}),
                         name_of_kind);

class CheckedWaits : public Waits {};
INSTANTIATE_TEST_SUITE_P(Condition, CheckedWaits, testing::ValuesIn(checked), name_of_kind);

TEST_P(Waits, signal_wakes_a_waiter_that_then_owns_the_mutex) {
  int result = -1, unlocked = -1;
  posix::thread waiter{[&] {
    pthread_mutex_lock(&mutex);
    ++waiting;
    while (value == 0) result = pthread_cond_wait(&condition, &mutex);
    unlocked = pthread_mutex_unlock(&mutex);
  }};
  await_waiters(1);
  set(1);
  EXPECT_EQ(pthread_cond_signal(&condition), 0);
  waiter.join();
  EXPECT_EQ(result, 0);
  EXPECT_EQ(unlocked, 0);
}

TEST_P(Waits, broadcast_wakes_all) {
  constexpr int count = 8;
  std::vector<std::unique_ptr<posix::thread>> waiters;
  for (int i = 0; i < count; ++i) {
    waiters.push_back(std::make_unique<posix::thread>([&] { EXPECT_EQ(wait_for(1), 0); }));
  }
  await_waiters(count);
  pthread_mutex_lock(&mutex);
  value = 1;
  EXPECT_EQ(pthread_cond_broadcast(&condition), 0);
  pthread_mutex_unlock(&mutex);
  waiters.clear();
  EXPECT_EQ(waiting, 0);
}

TEST_P(Waits, every_signal_of_a_queue_arrives) {
  constexpr int rounds = 3000;
  int taken = 0;
  std::vector<std::unique_ptr<posix::thread>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<posix::thread>([&] {
      pthread_mutex_lock(&mutex);
      while (taken < rounds) {
        if (value == 0) {
          pthread_cond_wait(&condition, &mutex);
        } else {
          --value;
          ++taken;
        }
      }
      pthread_mutex_unlock(&mutex);
      pthread_cond_signal(&condition);
    }));
  }
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&mutex);
    ++value;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condition);
  }
  workers.clear();
  EXPECT_EQ(taken, rounds);
}

TEST_P(Waits, limit_ends_a_wait_with_the_mutex_held) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  for (const timespec limit :
       {posix::past, posix::long_past, posix::after_ms(CLOCK_REALTIME, 20)}) {
    int result = 0;
    while (result == 0) result = pthread_cond_timedwait(&condition, &mutex, &limit);
    EXPECT_EQ(result, ETIMEDOUT);
    EXPECT_EQ(elsewhere([&] { return pthread_mutex_trylock(&mutex); }), EBUSY);
  }
  EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &posix::invalid), EINVAL);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_P(CheckedWaits, only_the_owner_waits) {
  EXPECT_EQ(pthread_cond_wait(&condition, &mutex), EPERM);
  pthread_mutex_lock(&mutex);
  EXPECT_EQ(elsewhere([&] { return pthread_cond_wait(&condition, &mutex); }), EPERM);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST(Condition, clocks_are_those_of_attribute_and_call) {
  for (const clockid_t own : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    scene with{{}, own};
    pthread_mutex_lock(&with.mutex);
    const timespec limit = posix::after_ms(own, 20);
    int result = 0;
    while (result == 0) result = pthread_cond_timedwait(&with.condition, &with.mutex, &limit);
    EXPECT_EQ(result, ETIMEDOUT);
    const timespec end = posix::now(own);
    EXPECT_TRUE(end.tv_sec > limit.tv_sec ||
                (end.tv_sec == limit.tv_sec && end.tv_nsec >= limit.tv_nsec));
    for (const clockid_t named : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
      const timespec soon = posix::after_ms(named, 5);
      for (result = 0; result == 0;) {
        result = pthread_cond_clockwait(&with.condition, &with.mutex, named, &soon);
      }
      EXPECT_EQ(result, ETIMEDOUT);
    }
    EXPECT_EQ(
        pthread_cond_clockwait(&with.condition, &with.mutex, CLOCK_THREAD_CPUTIME_ID, &posix::past),
        EINVAL);
    pthread_mutex_unlock(&with.mutex);
  }
}

TEST(Condition, notification_without_waiters_is_not_kept) {
  scene with;
  pthread_cond_signal(&with.condition);
  pthread_cond_broadcast(&with.condition);
  pthread_mutex_lock(&with.mutex);
  const timespec limit = posix::after_ms(CLOCK_REALTIME, 20);
  int result = 0;
  while (result == 0) result = pthread_cond_timedwait(&with.condition, &with.mutex, &limit);
  EXPECT_EQ(result, ETIMEDOUT);
  pthread_mutex_unlock(&with.mutex);
}

TEST(Condition, plain_and_inheriting_mutexes_may_use_one_in_turn) {
  scene plain;
  pthread_mutex_t inheriting;
  ASSERT_EQ(posix::init(&inheriting, {.protocol = PTHREAD_PRIO_INHERIT}), 0);
  for (pthread_mutex_t* const mutex : {&plain.mutex, &inheriting, &plain.mutex}) {
    bool waits = false, ready = false;
    posix::thread waiter{[&] {
      pthread_mutex_lock(mutex);
      waits = true;
      while (!ready) pthread_cond_wait(&plain.condition, mutex);
      pthread_mutex_unlock(mutex);
    }};
    for (bool seen = false; !seen;) {
      pthread_mutex_lock(mutex);
      seen = waits;
      ready = waits;
      pthread_mutex_unlock(mutex);
    }
    pthread_cond_signal(&plain.condition);
  }
  EXPECT_EQ(pthread_mutex_destroy(&inheriting), 0);
}

TEST(Condition, may_be_destroyed_as_soon_as_all_are_notified) {
  for (int round = 0; round < 200; ++round) {
    auto with = std::make_unique<scene>();
    pthread_mutex_t& mutex = with->mutex;
    pthread_cond_t* const condition = &with->condition;
    posix::thread waiter{[&] { with->wait_for(1); }};
    with->await_waiters(1);
    pthread_mutex_lock(&mutex);
    with->value = 1;
    pthread_cond_broadcast(condition);
    EXPECT_EQ(pthread_cond_destroy(condition), 0);
    std::memset(static_cast<void*>(condition), -1, sizeof *condition);
    pthread_mutex_unlock(&mutex);
    waiter.join();
    posix::init(condition, CLOCK_REALTIME);
  }
}

TEST(Condition, robust_mutex_reports_its_dead_owner_to_a_waiter) {
  scene with{{.robust = PTHREAD_MUTEX_ROBUST}};
  int result = -1;
  posix::thread waiter{[&] {
    pthread_mutex_lock(&with.mutex);
    ++with.waiting;
    do {
      result = pthread_cond_wait(&with.condition, &with.mutex);
    } while (result == 0 && with.value == 0);
    pthread_mutex_consistent(&with.mutex);
    pthread_mutex_unlock(&with.mutex);
  }};
  with.await_waiters(1);
  posix::thread{[&] {
    pthread_mutex_lock(&with.mutex);
    with.value = 1;
    pthread_cond_signal(&with.condition);
  }}.join();
  waiter.join();
  EXPECT_EQ(result, EOWNERDEAD);
}

struct shared_scene {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  int value;
};

TEST(Condition, shared_ones_reach_other_processes) {
  void* const place = mmap(nullptr, sizeof(shared_scene), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  shared_scene& shared = *new (place) shared_scene{};
  posix::init(&shared.mutex, {.shared = PTHREAD_PROCESS_SHARED});
  posix::init(&shared.condition, CLOCK_MONOTONIC, PTHREAD_PROCESS_SHARED);
  const pid_t child = fork();
  const auto play = [&](int own) {
    pthread_mutex_lock(&shared.mutex);
    for (int turn = 0; turn < 100; ++turn) {
      while (shared.value % 2 != own) pthread_cond_wait(&shared.condition, &shared.mutex);
      ++shared.value;
      pthread_cond_signal(&shared.condition);
    }
    pthread_mutex_unlock(&shared.mutex);
  };
  play(child == 0 ? 1 : 0);
  if (child == 0) _exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared.value, 200);
  munmap(place, sizeof(shared_scene));
}

TEST(Condition, shared_one_works_with_a_private_mutex) {
  scene with;
  pthread_cond_destroy(&with.condition);
  posix::init(&with.condition, CLOCK_MONOTONIC, PTHREAD_PROCESS_SHARED);
  posix::thread waiter{[&] { EXPECT_EQ(with.wait_for(1), 0); }};
  with.await_waiters(1);
  with.set(1);
  pthread_cond_signal(&with.condition);
  waiter.join();
  pthread_mutex_lock(&with.mutex);
  const timespec limit = posix::after_ms(CLOCK_MONOTONIC, 40);
  int result = 0;
  while (result == 0) result = pthread_cond_timedwait(&with.condition, &with.mutex, &limit);
  EXPECT_EQ(result, ETIMEDOUT);
  pthread_mutex_unlock(&with.mutex);
}

TEST(C11, condition_variables_wake_and_time_out) {
  mtx_t mutex;
  cnd_t condition;
  ASSERT_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
  ASSERT_EQ(cnd_init(&condition), thrd_success);
  bool ready = false;
  posix::thread waiter{[&] {
    mtx_lock(&mutex);
    while (!ready) cnd_wait(&condition, &mutex);
    mtx_unlock(&mutex);
  }};
  mtx_lock(&mutex);
  ready = true;
  EXPECT_EQ(cnd_signal(&condition), thrd_success);
  EXPECT_EQ(cnd_broadcast(&condition), thrd_success);
  mtx_unlock(&mutex);
  waiter.join();
  mtx_lock(&mutex);
  EXPECT_EQ(cnd_timedwait(&condition, &mutex, &posix::past), thrd_timedout);
  mtx_unlock(&mutex);
  cnd_destroy(&condition);
  mtx_destroy(&mutex);
}

}  // namespace
