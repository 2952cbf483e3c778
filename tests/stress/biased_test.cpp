// SPDX-License-Identifier: Apache-2.0

// A bias that comes and goes, on the real machine: real barriers, threads that are late with a
// store, and threads that end. Also under ThreadSanitizer, which does not see the barriers but
// takes part in them: the two words that the lock protects are ordered by atomics alone.

#include <lockyard/park/biased_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

namespace os = lockyard::detail::os;

/// The real machine, where a thread is late with a store, or behind a fence, now and then: time
/// enough for the others to revoke the bias, to sleep, or to give the bias to another thread.
struct barrier_world : derived_world<barrier_world, native> {
  using unwatched = barrier_world;
  static inline std::atomic<unsigned> revocations{0};

  static bool asymmetric_fence_register() noexcept { return os::membarrier_register(); }
  static bool asymmetric_fence_heavy() noexcept {
    ++revocations;
    return os::membarrier() == os::membarrier_outcome::done;
  }
  using native::asymmetric_fence_light;
  static void asymmetric_fence_light(native::registered_t tag) noexcept {
    native::asymmetric_fence_light(tag);
    tarry();
  }

  template <class T>
  class atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;
    void store(T value, std::memory_order order) noexcept {
      tarry();
      std::atomic<T>::store(value, order);
    }
  };

 private:
  static void tarry() noexcept {
    thread_local std::minstd_rand random{
        static_cast<std::uint32_t>(seed() + native::thread_slot())};
    if (random() % 16 != 0) return;
    for (auto turns = random() % 8; turns > 0; --turns) yield();
  }
};

class BiasComesAndGoes : public ::testing::Test {
 protected:
  static constexpr unsigned bias_after = 4;
  /// As many acquisitions in a row give the bias, even if another thread comes before the first.
  static constexpr unsigned streak = bias_after + 1;

  void SetUp() override {
    if (!os::membarrier_register()) GTEST_SKIP() << "unavailable here: membarrier";
    std::cout << "LOCKYARD_SEED=" << seed() << '\n';
    barrier_world::revocations = 0;
  }

  /// Sleeps, so that a busy machine runs the threads that count.
  static void await(const std::atomic<unsigned>& count, unsigned least) {
    for (unsigned now = count; now < least; now = count) count.wait(now);
  }

  /// What the lock protects, and its changes.
  struct place {
    biased_mutex<basic_futex_mutex<barrier_world>, bias_after> lock;
    std::uint64_t first = 0, second = 0;
    std::atomic<std::uint64_t> changes{0}, torn{0};

    void change() {
      if (first != second) ++torn;
      ++first;
      if (first % 16 == 0) native::yield();
      ++second;
      lock.unlock();
      ++changes;
    }
    void use(unsigned times = 1) {
      for (unsigned i = 0; i < times; ++i) {
        lock.lock();
        change();
      }
    }
    /// In each way that revokes a bias.
    void visit(unsigned way) {
      using namespace std::chrono_literals;
      if (way % 3 == 0) lock.lock();
      if (way % 3 == 1) {
        while (!lock.try_lock()) native::yield();
      }
      if (way % 3 == 2) {
        while (!lock.try_lock_for(10us)) native::yield();
      }
      change();
    }
    void expect_exclusion() {
      lock.lock();
      EXPECT_EQ(torn, 0U) << "two owners at once";
      EXPECT_EQ(first, changes) << "a change is lost";
      EXPECT_EQ(second, changes) << "a change is lost";
      lock.unlock();
    }
  };
};

/// An owner comes again and again until the last visitor has ended, and then ends with the bias.
/// Visitors end after a few visits each.
TEST_F(BiasComesAndGoes, loses_no_update_while_visitors_come_and_end) {
  constexpr unsigned visits = 4;
  const unsigned visitors = scaled(20);
  for (const unsigned teams : {1U, 3U}) {
    place here;
    std::atomic<unsigned> owned{0}, at_work{teams};
    barrier_world::revocations = 0;
    std::thread owner{[&] {
      while (at_work != 0) {
        here.use();
        if (++owned % 8 == 0) native::yield();
        owned.notify_all();
      }
      here.use(streak);
    }};
    std::vector<std::thread> others;
    for (unsigned team = 0; team < teams; ++team) {
      others.emplace_back([&] {
        for (unsigned visitor = 0; visitor < visitors; ++visitor) {
          std::thread{[&] {
            for (unsigned visit = 0; visit < visits; ++visit) {
              await(owned, owned + streak + 1);
              here.visit(visitor + visit);
            }
          }}.join();
        }
        --at_work;
      });
    }
    for (auto& each : others) each.join();
    owner.join();
    here.expect_exclusion();
    const unsigned each_visit = teams == 1 ? visitors * visits : 1;
    EXPECT_GT(barrier_world::revocations, each_visit) << teams << " teams of visitors";
  }
}

/// Each thread comes often enough to get the bias, and halfway through lets the next one begin.
TEST_F(BiasComesAndGoes, loses_no_update_while_it_moves_from_thread_to_thread) {
  constexpr unsigned threads = 3;
  const unsigned rounds = scaled(120);
  place here;
  std::atomic<unsigned> turn{0};
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      for (unsigned round = t; round < threads * rounds; round += threads) {
        await(turn, round);
        here.use(streak);
        ++turn;
        turn.notify_all();
        here.use(streak);
      }
    });
  }
  for (auto& each : team) each.join();
  here.expect_exclusion();
  EXPECT_GT(barrier_world::revocations, 0U);
}

}  // namespace
}  // namespace lockyard::testing
