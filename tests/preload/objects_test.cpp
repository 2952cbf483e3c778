// SPDX-License-Identifier: Apache-2.0

// Rwlocks, spinlocks, barriers, semaphores and pthread_once, as POSIX.1-2017 and POSIX.1-2024
// (clocks) describe them. The recorder replaces their functions.

#include "posix.hpp"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <new>

namespace {

using posix::after_ms;
using posix::elsewhere;

constexpr std::array clocks{CLOCK_REALTIME, CLOCK_MONOTONIC};

TEST(Rwlock, readers_share_it_and_a_writer_does_not) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_tryrdlock(&lock); }), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(&lock); }), EBUSY);
  EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
  EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);  // the other thread's
  EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_tryrdlock(&lock); }), EBUSY);
  EXPECT_EQ(pthread_rwlock_wrlock(&lock), EDEADLK);
  EXPECT_EQ(pthread_rwlock_rdlock(&lock), EDEADLK);
  EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
  EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST(Rwlock, timed_calls_end_at_their_limit_by_each_clock) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedrdlock(&lock, &posix::past); }), ETIMEDOUT);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedwrlock(&lock, &posix::past); }), ETIMEDOUT);
  EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedrdlock(&lock, &posix::invalid); }), EINVAL);
  for (const clockid_t clock : clocks) {
    const timespec limit = after_ms(clock, 20);
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_clockrdlock(&lock, clock, &limit); }),
              ETIMEDOUT);
    const timespec now = posix::now(clock);
    EXPECT_TRUE(now.tv_sec > limit.tv_sec ||
                (now.tv_sec == limit.tv_sec && now.tv_nsec >= limit.tv_nsec));
    EXPECT_EQ(elsewhere([&] { return pthread_rwlock_clockwrlock(&lock, clock, &limit); }),
              ETIMEDOUT);
  }
  pthread_rwlock_unlock(&lock);
}

TEST(Rwlock, waiters_of_both_kinds_get_it_after_a_long_hold) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int value = 0, sum = 0;
  pthread_rwlock_wrlock(&lock);
  {
    posix::thread writer{[&] {
      pthread_rwlock_wrlock(&lock);
      ++value;
      pthread_rwlock_unlock(&lock);
    }};
    posix::thread reader{[&] {
      pthread_rwlock_rdlock(&lock);
      sum = value;
      pthread_rwlock_unlock(&lock);
    }};
    usleep(250'000);  // longer than the recorder looks at the holder
    value = 10;
    pthread_rwlock_unlock(&lock);
  }
  EXPECT_EQ(value, 11);
  EXPECT_TRUE(sum == 10 || sum == 11) << sum;
}

TEST(Spinlock, excludes_and_can_be_tried) {
  pthread_spinlock_t lock;
  ASSERT_EQ(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE), 0);
  EXPECT_EQ(pthread_spin_lock(&lock), 0);
  EXPECT_EQ(elsewhere([&] { return pthread_spin_trylock(&lock); }), EBUSY);
  int value = 0;
  {
    posix::thread other{[&] {
      pthread_spin_lock(&lock);
      value *= 2;
      pthread_spin_unlock(&lock);
    }};
    usleep(10'000);
    value = 21;
    EXPECT_EQ(pthread_spin_unlock(&lock), 0);
  }
  EXPECT_EQ(value, 42);
  EXPECT_EQ(pthread_spin_destroy(&lock), 0);
}

TEST(Barrier, one_thread_of_each_round_is_told_so) {
  constexpr int threads = 3, rounds = 50;
  pthread_barrier_t barrier;
  ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, threads), 0);
  std::atomic<int> serial{0}, came{0};
  const auto body = [&] {
    for (int i = 1; i <= rounds; ++i) {
      ++came;
      const int result = pthread_barrier_wait(&barrier);
      if (result == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
      EXPECT_TRUE(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
      EXPECT_GE(came.load(), i * threads);
    }
  };
  {
    posix::thread one{body}, two{body};
    body();
  }
  EXPECT_EQ(serial.load(), rounds);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
}

TEST(Semaphore, counts_and_leaves_errno_as_posix_says) {
  sem_t semaphore;
  ASSERT_EQ(sem_init(&semaphore, 0, 1), 0);
  EXPECT_EQ(sem_wait(&semaphore), 0);
  EXPECT_EQ(sem_trywait(&semaphore), -1);
  EXPECT_EQ(errno, EAGAIN);
  errno = 0;
  EXPECT_EQ(sem_timedwait(&semaphore, &posix::past), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_EQ(sem_timedwait(&semaphore, &posix::invalid), -1);
  EXPECT_EQ(errno, EINVAL);
  for (const clockid_t clock : clocks) {
    const timespec limit = after_ms(clock, 10);
    EXPECT_EQ(sem_clockwait(&semaphore, clock, &limit), -1);
    EXPECT_EQ(errno, ETIMEDOUT);
  }
  errno = 7;
  posix::thread poster{[&] {
    usleep(10'000);
    sem_post(&semaphore);
  }};
  EXPECT_EQ(sem_wait(&semaphore), 0);
  EXPECT_EQ(errno, 7);
  poster.join();
  EXPECT_EQ(sem_destroy(&semaphore), 0);
}

sem_t posted_by_handler;

TEST(Semaphore, a_signal_handler_may_post_and_interrupts_a_wait) {
  ASSERT_EQ(sem_init(&posted_by_handler, 0, 0), 0);
  struct sigaction action {};
  action.sa_handler = [](int) { sem_post(&posted_by_handler); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  std::atomic<int> interrupted{0};
  posix::thread waiter{[&] {
    for (int got = 0; got < 200;) {
      if (sem_wait(&posted_by_handler) == 0) {
        ++got;
      } else {
        EXPECT_EQ(errno, EINTR);
        ++interrupted;
      }
    }
  }};
  for (int i = 0; i < 200; ++i) {
    int before = 0, now = 0;
    sem_getvalue(&posted_by_handler, &before);
    pthread_kill(waiter.handle(), SIGUSR1);
    do sem_getvalue(&posted_by_handler, &now);
    while (now > 0);
    usleep(200);
  }
  // Signals that came while one was pending were one: the rest is posted here.
  for (int i = 0; i < 200; ++i) sem_post(&posted_by_handler);
  waiter.join();
  sem_destroy(&posted_by_handler);
}

TEST(Semaphore, a_wait_is_a_cancellation_point) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  posix::thread waiter{[&] { sem_wait(&semaphore); }};
  usleep(10'000);
  EXPECT_EQ(waiter.cancel(), 0);
  EXPECT_TRUE(waiter.join());
  EXPECT_EQ(elsewhere([&] { return sem_post(&semaphore); }), 0);
  EXPECT_EQ(sem_wait(&semaphore), 0);
}

TEST(Semaphore, a_shared_one_wakes_another_process) {
  void* const memory =
      mmap(nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const semaphore = new (memory) sem_t;
  ASSERT_EQ(sem_init(semaphore, 1, 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(sem_wait(semaphore) == 0 ? 0 : 1);
  }
  usleep(10'000);
  sem_post(semaphore);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Once, runs_once_and_all_callers_wait_for_it) {
  static pthread_once_t control = PTHREAD_ONCE_INIT;
  static once_flag flag = ONCE_FLAG_INIT;
  static std::atomic<int> calls{0};
  const auto body = [] {
    pthread_once(&control, [] {
      usleep(10'000);
      ++calls;
    });
    EXPECT_GE(calls.load(), 1);
    call_once(&flag, [] { ++calls; });
  };
  { posix::thread one{body}, two{body}, three{body}; }
  EXPECT_EQ(calls.load(), 2);
}

}  // namespace
