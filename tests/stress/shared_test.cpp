// SPDX-License-Identifier: Apache-2.0

// Readers, writers and upgraders at once.

#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/world/native.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

/// Two plain words that are equal except during a write.
template <class Lock>
class mixed_team {
 public:
  void run(unsigned threads, unsigned rounds) {
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; ++t) team.emplace_back([=, this] { work(t, rounds); });
    for (auto& thread : team) thread.join();
    EXPECT_EQ(torn_, 0U);
    EXPECT_EQ(overtaken_, 0U) << "another thread wrote between an upgrader's look and its write";
    EXPECT_EQ(first_, changes_);
    EXPECT_EQ(second_, changes_);
    EXPECT_TRUE(lock_.try_lock()) << "something was left behind";
    lock_.unlock();
  }

 private:
  void work(unsigned thread, unsigned rounds) {
    std::minstd_rand random{static_cast<std::uint32_t>(seed() + thread)};
    for (unsigned round = 0; round < rounds; ++round) act(random() % 16, random);
  }

  void act(unsigned choice, std::minstd_rand& random) {
    const std::chrono::microseconds a_while{random() % 20};
    switch (choice) {
      case 0: lock_.lock(); return change_and_leave();
      case 1:
        if (lock_.try_lock_for(a_while)) change_and_leave();
        return;
      case 2:
        lock_.lock();
        change();
        lock_.unlock_and_lock_shared();
        return look_and_leave();
      case 3:
        lock_.lock();
        change();
        lock_.unlock_and_lock_upgrade();
        return upgrade_and_leave();
      case 4: lock_.lock_upgrade(); return upgrade_and_leave();
      case 5:
        lock_.lock_upgrade();
        look();
        lock_.unlock_upgrade_and_lock_shared();
        return look_and_leave();
      case 6:
        lock_.lock_upgrade();
        look();
        return lock_.unlock_upgrade();
      case 7:
      case 8:
        if (lock_.try_lock_shared_for(a_while)) look_and_leave();
        return;
      case 9:
        if (lock_.try_lock_shared()) look_and_leave();
        return;
      default: lock_.lock_shared(); return look_and_leave();
    }
  }

  std::uint64_t look() {
    const std::uint64_t found = first_;
    if (found != second_) ++torn_;
    return found;
  }
  void change() {
    ++first_;
    if (first_ % 64 == 0) std::this_thread::yield();
    ++second_;
    ++changes_;
  }
  void look_and_leave() {
    look();
    lock_.unlock_shared();
  }
  void change_and_leave() {
    change();
    lock_.unlock();
  }
  void upgrade_and_leave() {
    const std::uint64_t seen = look();
    lock_.unlock_upgrade_and_lock();
    if (look() != seen) ++overtaken_;
    change_and_leave();
  }

  Lock lock_;
  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> torn_{0};
  std::atomic<std::uint64_t> overtaken_{0};
};

TEST(SharedMutexStress, keeps_readers_writers_and_upgraders_apart) {
  std::cout << "LOCKYARD_SEED=" << seed() << '\n';
  mixed_team<shared_mutex>{}.run(2 * cores(), scaled(100'000));
}

TEST(SharedMutexStress, serves_more_sleepers_than_are_woken_at_once) {
  std::cout << "LOCKYARD_SEED=" << seed() << '\n';
  mixed_team<shared_mutex>{}.run(40, scaled(4000));
}

/// Readers that never leave the lock alone do not keep a writer out.
TEST(SharedMutexStress, lets_a_writer_in_among_readers_that_never_pause) {
  shared_mutex lock;
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 2 * cores(); ++t) {
    readers.emplace_back([&] {
      while (!over.load()) {
        lock.lock_shared();
        std::this_thread::yield();
        lock.unlock_shared();
      }
    });
  }
  for (unsigned i = 0; i < scaled(200); ++i) {
    lock.lock();
    lock.unlock();
  }
  over = true;
  for (auto& thread : readers) thread.join();
}

}  // namespace
}  // namespace lockyard::testing
