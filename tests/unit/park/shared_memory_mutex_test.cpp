// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/shared_memory_mutex.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <thread>

namespace lockyard::testing {
namespace {

static_assert(sizeof(shared_memory_mutex) == 40 && alignof(shared_memory_mutex) == 8);

TEST(SharedMemoryMutex, keeps_the_death_of_an_owner_until_the_data_are_consistent) {
  shared_memory_mutex mutex;
  std::thread{[&] { mutex.lock(); }}.join();  // ends while it holds the mutex
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_TRUE(mutex.owner_died());
  mutex.unlock();
  mutex.lock();
  EXPECT_TRUE(mutex.owner_died()) << "no owner has made the data consistent";
  mutex.make_consistent();
  mutex.unlock();
  mutex.lock();
  EXPECT_FALSE(mutex.owner_died());
  mutex.unlock();
}

TEST(SharedMemoryMutex, shares_the_list_with_robust_mutexes_of_the_c_library) {
  shared_memory_mutex ours[2];
  pthread_mutex_t theirs[2];
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  for (pthread_mutex_t& each : theirs) pthread_mutex_init(&each, &robust);
  std::thread{[&] {
    for (int i = 0; i < 2; ++i) {
      pthread_mutex_lock(&theirs[i]);
      ours[i].lock();
    }
    ours[0].unlock();  // out of order, between links of theirs
    pthread_mutex_unlock(&theirs[1]);
    ours[0].lock();
    ours[0].unlock();
  }}.join();
  EXPECT_EQ(pthread_mutex_lock(&theirs[0]), EOWNERDEAD);
  EXPECT_EQ(pthread_mutex_lock(&theirs[1]), 0);
  const std::unique_lock first{ours[0], std::chrono::seconds{10}};
  const std::unique_lock second{ours[1], std::chrono::seconds{10}};
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(ours[0].owner_died());
  EXPECT_TRUE(ours[1].owner_died());
  for (pthread_mutex_t& each : theirs) {
    pthread_mutex_consistent(&each);
    pthread_mutex_unlock(&each);
  }
}

/// As with a C library that does not use the list.
TEST(SharedMemoryMutex, registers_a_list_where_there_is_none_also_in_a_forked_child) {
  void* const page = mmap(nullptr, sizeof(shared_memory_mutex), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto& mutex = *::new (page) shared_memory_mutex;
  constexpr std::size_t head_bytes = 24;
  std::thread{[&] {
    ASSERT_EQ(syscall(SYS_set_robust_list, nullptr, head_bytes), 0);
    mutex.lock();
    mutex.unlock();
    const pid_t child = fork();
    if (child == 0) {
      mutex.lock();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(mutex.try_lock_for(std::chrono::seconds{20})) << "locked forever by the child";
  }}.join();  // ends while it holds the mutex
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::seconds{20})) << "locked forever by the thread";
  EXPECT_TRUE(mutex.owner_died());
  mutex.unlock();
  munmap(page, sizeof(shared_memory_mutex));
}

TEST(SharedMemoryMutex, ends_a_timed_wait_for_a_thread_that_holds_it) {
  shared_memory_mutex mutex;
  mutex.lock();
  std::thread{[&] { EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds{1})); }}.join();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

}  // namespace
}  // namespace lockyard::testing
