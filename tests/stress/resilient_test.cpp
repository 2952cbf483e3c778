// SPDX-License-Identifier: Apache-2.0

// Traffic over several resilient locks: in orders that can deadlock and in orders that cannot, from
// signal handlers too, and among many more threads than processors.

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "stress/contention.hpp"
#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ResilientTraffic : public ::testing::Test {};
TYPED_TEST_SUITE(ResilientTraffic, both_locks, form_name);

/// Runs the body in so many threads.
template <class Body>
void in_threads(unsigned count, Body body) {
  team threads;
  for (unsigned i = 0; i < count; ++i) threads.start([&body, i] { body(i); });
}

TYPED_TEST(ResilientTraffic, in_one_order_meets_no_error) {
  const limits_for<TypeParam> limits{patient};
  std::array<TypeParam, 4> locks;
  std::array<std::uint64_t, 4> counters{};
  const unsigned rounds = scaled(4000);
  in_threads(8, [&](unsigned thread) {
    std::minstd_rand random{static_cast<std::uint32_t>(seed()) + thread};
    for (unsigned i = 0; i < rounds; ++i) {
      const std::size_t low = random() % 3;
      const std::size_t high = low + 1 + random() % (3 - low);
      ASSERT_EQ(locks[low].lock(), lock_errc::acquired);
      ASSERT_EQ(locks[high].lock(), lock_errc::acquired);
      ++counters[low];
      ++counters[high];
      locks[random() % 2 == 0 ? low : high].unlock();
      const bool first = listed<TypeParam>().front() == &locks[low];
      locks[first ? low : high].unlock();
    }
  });
  EXPECT_EQ(counters[0] + counters[1] + counters[2] + counters[3], 2U * 8U * rounds);
}

TYPED_TEST(ResilientTraffic, in_both_orders_behind_a_gate_meets_no_error) {
  const limits_for<TypeParam> limits{patient};
  TypeParam gate, one, other;
  const unsigned rounds = scaled(2000);
  in_threads(6, [&](unsigned thread) {
    for (unsigned i = 0; i < rounds; ++i) {
      ASSERT_EQ(gate.lock(), lock_errc::acquired);
      TypeParam& first = thread % 2 == 0 ? one : other;
      TypeParam& second = thread % 2 == 0 ? other : one;
      ASSERT_EQ(first.lock(), lock_errc::acquired);
      ASSERT_EQ(second.lock(), lock_errc::acquired);
      first.unlock();
      second.unlock();
      gate.unlock();
    }
  });
}

TYPED_TEST(ResilientTraffic, hand_over_hand_meets_no_error) {
  const limits_for<TypeParam> limits{patient};
  std::array<TypeParam, 8> list;
  const unsigned rounds = scaled(1000);
  in_threads(6, [&](unsigned) {
    for (unsigned i = 0; i < rounds; ++i) {
      ASSERT_EQ(list[0].lock(), lock_errc::acquired);
      for (std::size_t next = 1; next < list.size(); ++next) {
        ASSERT_EQ(list[next].lock(), lock_errc::acquired);
        list[next - 1].unlock();
      }
      list.back().unlock();
    }
  });
}

/// Any two locks of several, in any order: each attempt ends, and what is held is held alone.
TYPED_TEST(ResilientTraffic, in_all_orders_ends_with_deadlocks_at_most) {
  const limits_for<TypeParam> limits{patient};
  std::array<TypeParam, 5> locks;
  std::array<std::uint64_t, 5> counters{};
  std::array<std::atomic<std::uint64_t>, 5> expected{};
  const unsigned rounds = scaled(1500);
  in_threads(6, [&](unsigned thread) {
    std::minstd_rand random{static_cast<std::uint32_t>(seed()) + thread};
    for (unsigned i = 0; i < rounds; ++i) {
      std::vector<std::size_t> held;
      for (int n = 0; n < 3; ++n) {
        const std::size_t next = random() % locks.size();
        const lock_result how = locks[next].lock();
        if (!how) {
          ASSERT_EQ(how, lock_errc::deadlock);
          break;
        }
        ++counters[next];
        ++expected[next];
        held.push_back(next);
      }
      for (const std::size_t each : held) locks[each].unlock();
    }
  });
  for (std::size_t i = 0; i < locks.size(); ++i) {
    EXPECT_EQ(counters[i], expected[i]);
    EXPECT_TRUE(is_free(locks[i]));
  }
}

/// Deadlocks, or too many nodes in lines that do not move: each attempt that was given up leaves
/// one there. Then a handler is told so, and other code gives up after a second.
bool is_of_handlers(lock_result how) {
  return how == lock_errc::deadlock || how == lock_errc::nested_busy || how == lock_errc::timed_out;
}

/// What handlers lock: the lock of the code that they interrupt, or two or three in a ring.
template <class Lock>
struct handler_scene {
  std::array<Lock, 3> locks;
  std::size_t modulus = 1;
  std::atomic<std::uint64_t> other_errors{0};
  std::atomic<std::uint64_t> in_handlers{0};

  bool use(std::size_t which) {
    Lock& lock = locks[which % modulus];
    const lock_result how = lock.lock();
    if (how) {
      lock.unlock();
    } else if (!is_of_handlers(how)) {
      ++other_errors;
    }
    return static_cast<bool>(how);
  }
};

thread_local std::size_t number_of_thread = 0;
void (*in_handler)() = nullptr;

TYPED_TEST(ResilientTraffic, from_signal_handlers_ends) {
  const limits_for<TypeParam> limits{patient};
  static handler_scene<TypeParam>* scene = nullptr;
  in_handler = [] {
    scene->use(number_of_thread + 1);
    ++scene->in_handlers;
  };
  struct sigaction action {};
  action.sa_handler = [](int) { in_handler(); };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  for (const std::size_t modulus : {1U, 2U, 3U}) {
    const auto made = std::make_unique<handler_scene<TypeParam>>();
    scene = made.get();
    scene->modulus = modulus;
    constexpr unsigned count = 4;
    std::atomic<unsigned> ready{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        number_of_thread = i;
        scene->use(i);  // opens the thread's table
        ++ready;
        while (!is_over) {
          const lock_result how = scene->locks[i % scene->modulus].lock();
          if (how) {
            for (int turns = 0; turns < 50; ++turns) native::pause();
            scene->locks[i % scene->modulus].unlock();
          } else if (!is_of_handlers(how)) {
            ++scene->other_errors;
          }
        }
      });
    }
    await([&] { return ready == count; });
    // Few: one that has no node left for its cancelled ones waits for a second.
    const std::uint64_t enough = scaled(300);
    for (unsigned i = 0; scene->in_handlers < enough; ++i) {
      pthread_kill(threads[i % count].native_handle(), SIGUSR1);
      sched_yield();
    }
    is_over = true;
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(scene->other_errors, 0U) << modulus << " locks";
    for (auto& lock : scene->locks) EXPECT_TRUE(is_free(lock));
  }
  sigaction(SIGUSR1, &before, nullptr);
}

/// With the time-outs that users get.
TYPED_TEST(ResilientTraffic, among_16_threads_for_each_core_times_out_nowhere) {
  TypeParam lock;
  std::uint64_t counter = 0;
  const unsigned threads = 16 * cores();
  const unsigned rounds = scaled(8000) / threads + 1;
  std::barrier all_are_there{static_cast<std::ptrdiff_t>(threads)};
  in_threads(threads, [&](unsigned) {
    all_are_there.arrive_and_wait();
    for (unsigned i = 0; i < rounds; ++i) {
      ASSERT_EQ(lock.lock(), lock_errc::acquired);
      counter = counter + 1;
      lock.unlock();
    }
  });
  EXPECT_EQ(counter, std::uint64_t{threads} * rounds);
}

/// The time in which no thread runs counts as no thread's stall.
TYPED_TEST(ResilientTraffic, times_out_nowhere_while_its_process_is_stopped) {
  TypeParam lock;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // one that hangs does not outlive its test
    std::atomic<bool> right{true};
    in_threads(4, [&](unsigned) {
      for (unsigned i = 0; i < scaled(300); ++i) {
        if (!lock.lock()) {
          right = false;
          return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds{20});
        lock.unlock();
      }
    });
    _exit(right ? 0 : 1);
  }
  int status = 0;
  for (int stops = 0; waitpid(child, &status, WNOHANG) == 0; ++stops) {
    kill(child, SIGSTOP);
    // Twice as long as the first waiter's time-out, and for the first time only.
    if (stops == 0) std::this_thread::sleep_for(milliseconds{2 * resilience{}.pending_ms});
    kill(child, SIGCONT);
    std::this_thread::sleep_for(std::chrono::microseconds{500});
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

}  // namespace
}  // namespace lockyard::testing
