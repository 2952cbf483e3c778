// SPDX-License-Identifier: Apache-2.0

// Waiters that do not run while others wait behind them, processes that may use one processor only,
// and threads that come and go while others read their tables.

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <type_traits>

#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class Absent : public ::testing::Test {};
TYPED_TEST_SUITE(Absent, both_locks, form_name);

/// Keeps the thread that it is sent to inside a signal handler, to the end of the scope.
class absence {
 public:
  absence() {
    is_over_ = false;
    has_begun_ = false;
    struct sigaction action {};
    action.sa_handler = [](int) {
      has_begun_ = true;
      while (!is_over_) sched_yield();
    };
    sigaction(SIGUSR1, &action, &before_);
  }
  absence(const absence&) = delete;
  absence& operator=(const absence&) = delete;
  ~absence() {
    is_over_ = true;
    sigaction(SIGUSR1, &before_, nullptr);
  }

  static void begin(pthread_t of) {
    pthread_kill(of, SIGUSR1);
    await([] { return has_begun_.load(); });
  }

 private:
  inline static std::atomic<bool> is_over_{false};
  inline static std::atomic<bool> has_begun_{false};
  struct sigaction before_ {};
};

/// How many acquisitions of one lock there have been, by threads that wait in a known order.
template <class Lock>
struct line_scene {
  Lock lock;
  std::atomic<unsigned> acquired{0};

  void pass_through() {
    const lock_result how = lock.lock();
    ASSERT_EQ(how, lock_errc::acquired);
    ++acquired;
    lock.unlock();
  }
};

/// Pending, head, two behind: the first of these two does not run when the place becomes its own.
TYPED_TEST(Absent, one_in_the_middle_delays_those_behind_it_until_it_is_back) {
  const limits_for<TypeParam> limits{patient};
  line_scene<TypeParam> scene;
  std::atomic<pthread_t> middle{};
  std::atomic<bool> has_given_up{false};
  team waiters;
  {
    const absence away;
    ASSERT_EQ(scene.lock.lock(), lock_errc::acquired);
    for (int ahead = 0; ahead < 2; ++ahead) {
      waiters.enter(scene.lock, [&] { scene.pass_through(); });
    }
    waiters.enter(scene.lock, [&] {
      middle = pthread_self();
      scene.pass_through();
    });
    waiters.enter(scene.lock, [&] { scene.pass_through(); });
    // One that has a limit of its own leaves, wherever it stands.
    waiters.start([&] {
      EXPECT_EQ(scene.lock.try_lock_for(milliseconds{20}), lock_errc::timed_out);
      has_given_up = true;
    });
    absence::begin(middle);
    await([&] { return has_given_up.load(); });
    scene.lock.unlock();
    // Waiters ahead are not held up; the one behind is, unless waiters may barge.
    await([&] { return scene.acquired >= 2; });
  }
  waiters.join();
  EXPECT_EQ(scene.acquired, 4U);
  EXPECT_TRUE(is_free(scene.lock));
}

/// The next waiter has taken its claim and not yet the lock: no thread waits for it.
TYPED_TEST(Absent, a_pending_one_leaves_newcomers_their_own_limits) {
  const limits_for<TypeParam> limits{patient};
  line_scene<TypeParam> scene;
  std::atomic<pthread_t> pending{};
  team waiters;
  {
    const absence away;
    ASSERT_EQ(scene.lock.lock(), lock_errc::acquired);
    waiters.enter(scene.lock, [&] {
      pending = pthread_self();
      scene.pass_through();
    });
    absence::begin(pending);
    scene.lock.unlock();
    EXPECT_EQ(scene.acquired, 0U);
    const lock_result how = scene.lock.try_lock_for(milliseconds{20});
    if (how) {  // waiters that sleep may be passed; others are served in the order of arrival
      EXPECT_TRUE((std::is_same_v<TypeParam, resilient_mutex>));
      scene.lock.unlock();
    } else {
      EXPECT_EQ(how, lock_errc::timed_out);
    }
  }
  waiters.join();
  EXPECT_EQ(scene.acquired, 1U);
  EXPECT_TRUE(is_free(scene.lock));
}

/// Uses the default time-outs: a thread that spins on the one processor makes room for the owner.
TYPED_TEST(Absent, nobody_times_out_on_one_processor) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // threads inherit it
  TypeParam lock;
  unsigned counter = 0;
  constexpr unsigned threads = 16;
  constexpr unsigned rounds = 100;
  {
    team all;
    for (unsigned i = 0; i < threads; ++i) {
      all.start([&] {
        for (unsigned n = 0; n < rounds; ++n) {
          ASSERT_EQ(lock.lock(), lock_errc::acquired);
          const unsigned found = counter;
          if (n % 8 == 0) sched_yield();
          counter = found + 1;
          lock.unlock();
        }
      });
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(counter, threads * rounds);
}

/// Slots and tables are used again and again, while waiters of a lock that stands still read them.
TYPED_TEST(Absent, threads_come_and_go_while_others_look) {
  const limits_for<TypeParam> limits{patient};
  const bool is_long = std::getenv("LOCKYARD_REAL_STALL_LIMITS") != nullptr;
  const unsigned lives = is_long ? 100'000 : 1'000;
  std::array<TypeParam, 2> still, busy;
  team lookers;
  for (TypeParam& each : still) {
    ASSERT_EQ(each.lock(), lock_errc::acquired);
    lookers.enter(each, [&each] {
      TypeParam own;  // a thread that holds no other lock does not walk
      ASSERT_EQ(own.lock(), lock_errc::acquired);
      ASSERT_EQ(each.lock(), lock_errc::acquired);
      each.unlock();
      own.unlock();
    });
  }
  for (unsigned life = 0; life < lives; ++life) {
    std::thread{[&busy] {
      ASSERT_EQ(busy[0].lock(), lock_errc::acquired);
      ASSERT_EQ(busy[1].lock(), lock_errc::acquired);
      busy[0].unlock();
      busy[1].unlock();
    }}.join();
  }
  for (TypeParam& each : still) each.unlock();
  lookers.join();
  for (TypeParam& each : busy) EXPECT_TRUE(is_free(each));
}

}  // namespace
}  // namespace lockyard::testing
