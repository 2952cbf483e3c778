// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads that fight for a lock, and what has to be true afterwards.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "support/subjects.hpp"

namespace lockyard::testing {

/// What all random choices of this run start from; LOCKYARD_SEED repeats them.
std::uint64_t seed();

/// Fewer where a sanitizer or an emulator makes each one slow; at least one.
unsigned scaled(unsigned count);

/// The processors of this machine, as far as tests make use of them.
unsigned cores();

/// A team that changes two plain words under a lock: they stay equal, and no change is lost.
class contention {
 public:
  struct shape {
    unsigned threads = 4;
    unsigned rounds = 500;
    /// Upper bounds of what is drawn for each round: a busy time in turns of a loop, and a sleep.
    unsigned hold_turns = 64;
    std::chrono::microseconds sleep{0};
    /// Above zero: all threads but the first one wait at longest that long, by try_lock_for.
    std::chrono::microseconds patience{0};
  };

  /// Starts the team.
  contention(some_lock& lock, shape of);
  contention(const contention&) = delete;
  contention& operator=(const contention&) = delete;
  ~contention();

  std::vector<std::thread>& team() { return team_; }
  [[nodiscard]] bool is_over() const { return ended_ == of_.threads; }

  /// Waits for the end of the team; whether the lock kept its word.
  ::testing::AssertionResult kept_its_word();

 private:
  void work(unsigned thread);
  bool acquire(unsigned thread, unsigned round, std::minstd_rand& random);
  void change_both(std::minstd_rand& random);

  some_lock& lock_;
  const shape of_;
  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
  std::atomic<std::uint64_t> torn_{0};
  std::atomic<std::uint64_t> early_{0};
  std::atomic<std::uint64_t> acquired_{0};
  std::atomic<unsigned> ended_{0};
  std::vector<std::thread> team_;
};

/// A test of each of several locks.
class Stress : public ::testing::TestWithParam<subject> {
 protected:
  void SetUp() override;
  some_lock& lock() { return *lock_; }

 private:
  std::unique_ptr<some_lock> lock_ = GetParam().make();
};

class EveryLock : public Stress {};  // instantiated in oversubscription_test.cpp
class TimedLock : public Stress {};  // instantiated in timed_test.cpp

}  // namespace lockyard::testing
