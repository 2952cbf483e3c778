// SPDX-License-Identifier: Apache-2.0

// Threads of contended-threads that wait for each other.

#include <pthread.h>
#include <sched.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

#include "contended_threads.hpp"

namespace {

pthread_mutex_t* const ring_of[] = {&account, &journal, &index_lock};

}  // namespace

/// Threads that each hold a mutex and want the next one's.
void cycle(int size) {
  static std::atomic<int> holding{0};
  std::vector<std::thread> all;
  for (int i = 0; i < size; ++i) {
    all.emplace_back([i, size] {
      pthread_mutex_lock(ring_of[i]);
      for (holding.fetch_add(1); holding.load() < size;) usleep(100);
      const int error = pthread_mutex_lock(ring_of[(i + 1) % size]);
      if (error != 0) std::printf("error %d\n", error);
      std::fflush(stdout);
      if (error == 0) pthread_mutex_unlock(ring_of[(i + 1) % size]);
      pthread_mutex_unlock(ring_of[i]);
    });
  }
  for (auto& each : all) each.join();
}

namespace {

/// Two threads: each holds a lock, calls its argument until both hold one, and then wants the
/// other's lock.
template <class A, class B>
void cross(A hold_and_want, B want_and_hold) {
  std::atomic<int> holding{0};
  const auto both = [&] {
    for (holding.fetch_add(1); holding.load() < 2;) usleep(100);
  };
  std::thread one{[&] { hold_and_want(both); }}, other{[&] { want_and_hold(both); }};
  one.join();
  other.join();
}
void lock_account_and_write(auto both) {
  pthread_mutex_lock(&account);
  both();
  pthread_rwlock_wrlock(&table);
}

}  // namespace

/// Through an rwlock: its writer waits for a mutex whose owner wants to read.
void cycle_with_writer() {
  cross(
      [](auto both) {
        pthread_rwlock_wrlock(&table);
        both();
        pthread_mutex_lock(&account);
      },
      [](auto both) {
        pthread_mutex_lock(&account);
        both();
        pthread_rwlock_rdlock(&table);
      });
}

/// Through one of the readers of an rwlock, which waits for a mutex whose owner wants to write.
void cycle_with_reader() {
  std::thread innocent{[] {
    pthread_rwlock_rdlock(&table);
    pause();
  }};
  usleep(20'000);
  cross(
      [](auto both) {
        pthread_rwlock_rdlock(&table);
        both();
        pthread_mutex_lock(&account);
      },
      [](auto both) { lock_account_and_write(both); });
}

/// A reader that wants to write.
void upgrade() {
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_wrlock(&table);
}

/// A thread that is joined by the owner of the mutex that it wants.
void cycle_with_join() {
  pthread_mutex_lock(&account);
  std::thread other{[] {
    pthread_mutex_lock(&account);
    pthread_mutex_unlock(&account);
  }};
  other.join();
}

void cycle_with_c11_join() {
  pthread_mutex_lock(&account);
  thrd_t other;
  thrd_create(
      &other,
      [](void*) {
        pthread_mutex_lock(&account);
        return 0;
      },
      nullptr);
  thrd_join(other, nullptr);
}

/// Readers and writers that wait for each other, and for a mutex, and never in a ring.
void read_and_write() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([i] {
      for (int k = 0; k < count; ++k) {
        i == 0 ? pthread_rwlock_wrlock(&table) : pthread_rwlock_rdlock(&table);
        pthread_mutex_lock(&account);
        std::thread short_lived{[] {
          pthread_mutex_lock(&journal);
          pthread_mutex_unlock(&journal);
        }};
        if (k % 16 == 0) sched_yield();
        short_lived.join();
        pthread_mutex_unlock(&account);
        pthread_rwlock_unlock(&table);
        if (i == 1 && pthread_rwlock_trywrlock(&table) == 0) pthread_rwlock_unlock(&table);
      }
    });
  }
  for (auto& each : all) each.join();
}

/// `count` cycles as of cycle(), each of threads and error-checking mutexes of its own.
void many_cycles(int size) {
  for (int round = 0; round < count; ++round) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    std::vector<pthread_mutex_t> locks(static_cast<std::size_t>(size));
    for (auto& each : locks) pthread_mutex_init(&each, &attributes);
    std::atomic<int> holding{0}, errors{0};
    std::vector<std::thread> all;
    for (int i = 0; i < size; ++i) {
      all.emplace_back([&, i] {
        auto& own = locks[static_cast<std::size_t>(i)];
        auto& other = locks[static_cast<std::size_t>((i + 1) % size)];
        pthread_mutex_lock(&own);
        for (holding.fetch_add(1); holding.load() < size;) sched_yield();
        if (pthread_mutex_lock(&other) == 0) {
          pthread_mutex_unlock(&other);
        } else {
          errors.fetch_add(1);
        }
        pthread_mutex_unlock(&own);
      });
    }
    for (auto& each : all) each.join();
    if (errors.load() != 1) std::printf("round %d: %d errors\n", round, errors.load());
    for (auto& each : locks) pthread_mutex_destroy(&each);
  }
}

void timed_cycle() {
  static std::atomic<int> holding{0};
  const auto body = [](pthread_mutex_t* own, pthread_mutex_t* other) {
    pthread_mutex_lock(own);
    for (holding.fetch_add(1); holding.load() < 2;) usleep(100);
    timespec limit{};
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += 200'000'000;
    limit.tv_sec += limit.tv_nsec / 1'000'000'000;
    limit.tv_nsec %= 1'000'000'000;
    if (pthread_mutex_timedlock(other, &limit) == 0) pthread_mutex_unlock(other);
    pthread_mutex_unlock(own);
  };
  std::thread one{body, &account, &journal}, other{body, &journal, &account};
  one.join();
  other.join();
}
