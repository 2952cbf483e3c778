// SPDX-License-Identifier: Apache-2.0

// Condition variables under many threads. A notification that is lost hangs.

#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::microseconds;

template <class Pair>
class ConditionStress : public ::testing::Test {
 protected:
  using condition = typename Pair::first_type;
  using lock = typename Pair::second_type;

  static void run(std::vector<std::function<void()>> parts) {
    std::vector<std::thread> team;
    team.reserve(parts.size());
    for (auto& part : parts) team.emplace_back(std::move(part));
    for (auto& thread : team) thread.join();
  }
};
using pairs =
    ::testing::Types<std::pair<condition_variable, mutex>, std::pair<condition_variable_any, mutex>,
                     std::pair<condition_variable_any, byte_mutex>>;
TYPED_TEST_SUITE(ConditionStress, pairs);

/// More threads than processors, on a queue of four places.
TYPED_TEST(ConditionStress, loses_nothing_between_producers_and_consumers) {
  constexpr unsigned each = 6;
  const unsigned items = scaled(20'000);
  typename TestFixture::lock mine;
  typename TestFixture::condition has_room, has_items;
  std::deque<unsigned> queue;
  std::uint64_t sum = 0;
  std::vector<std::function<void()>> parts;
  for (unsigned t = 0; t < each; ++t) {
    parts.emplace_back([&, t] {
      for (unsigned i = 0; i < items; ++i) {
        std::unique_lock held{mine};
        has_room.wait(held, [&] { return queue.size() < 4; });
        queue.push_back(i);
        if (t % 2 == 0) held.unlock();
        has_items.notify_one();
      }
    });
    parts.emplace_back([&] {
      for (unsigned i = 0; i < items; ++i) {
        std::unique_lock held{mine};
        has_items.wait(held, [&] { return !queue.empty(); });
        sum += queue.front();
        queue.pop_front();
        held.unlock();
        has_room.notify_one();
      }
    });
  }
  this->run(parts);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(sum, std::uint64_t{each} * items * (items - 1) / 2);
}

TYPED_TEST(ConditionStress, ends_each_wait_by_the_notification_that_follows_it) {
  const unsigned turns = scaled(60'000);
  typename TestFixture::lock mine;
  typename TestFixture::condition changed;
  unsigned turn = 0;
  const auto play = [&](unsigned first) {
    for (unsigned i = first; i < turns; i += 2) {
      std::unique_lock held{mine};
      changed.wait(held, [&] { return turn == i; });
      turn = i + 1;
      if (i % 4 < 2) held.unlock();
      changed.notify_one();
    }
  };
  this->run({[&] { play(0); }, [&] { play(1); }});
  EXPECT_EQ(turn, turns);
}

/// All go through each gate, which is opened with the lock held and without it in turns.
TYPED_TEST(ConditionStress, lets_all_go_on_again_and_again) {
  constexpr unsigned threads = 20;  // more than are woken at once
  const unsigned rounds = scaled(2'000);
  typename TestFixture::lock mine;
  typename TestFixture::condition begins, is_over;
  unsigned round = 0;
  unsigned through = 0;
  std::vector<std::function<void()>> parts(threads, [&] {
    for (unsigned i = 1; i <= rounds; ++i) {
      std::unique_lock held{mine};
      begins.wait(held, [&] { return round >= i; });
      if (++through == threads * i) is_over.notify_all();
    }
  });
  parts.emplace_back([&] {
    for (unsigned i = 1; i <= rounds; ++i) {
      std::unique_lock held{mine};
      round = i;
      if (i % 2 == 0) held.unlock();
      begins.notify_all();
      if (i % 2 == 0) held.lock();
      is_over.wait(held, [&] { return through == threads * i; });
    }
  });
  this->run(parts);
  EXPECT_EQ(through, threads * rounds);
}

/// Each notification goes to a thread that reports it, or is lost without waiters.
TYPED_TEST(ConditionStress, loses_no_notification_to_a_thread_that_gives_up) {
  const unsigned items = scaled(20'000);
  constexpr unsigned takers = 4;
  typename TestFixture::lock mine;
  typename TestFixture::condition changed;
  unsigned given = 0;
  unsigned taken = 0;
  unsigned waiting = 0;
  unsigned notified = 0;
  std::vector<std::function<void()>> parts(takers, [&] {
    std::unique_lock held{mine};
    while (taken < items) {
      ++waiting;
      const auto ended = changed.wait_for(held, microseconds{12});
      if (ended == std::cv_status::no_timeout) ++notified;
      --waiting;
      if (given > taken) ++taken;
    }
  });
  unsigned told = 0;
  parts.emplace_back([&] {
    while (true) {
      std::unique_lock held{mine};
      if (taken == items) break;
      if (given < items) ++given;
      told += waiting != 0 ? 1 : 0;
      changed.notify_one();
    }
  });
  this->run(parts);
  EXPECT_EQ(given, items);
  EXPECT_LE(notified, told);
}

TYPED_TEST(ConditionStress, misses_no_stop) {
  const unsigned rounds = scaled(5'000);
  typename TestFixture::lock mine;
  typename TestFixture::condition changed;
  for (unsigned i = 0; i < rounds; ++i) {
    const auto stop = std::make_unique<std::stop_source>();
    std::thread waiter{[&] {
      std::unique_lock held{mine};
      EXPECT_FALSE(changed.wait(held, stop->get_token(), [] { return false; }));
    }};
    for (unsigned spent = 0; spent < i % 64; ++spent) std::this_thread::yield();
    stop->request_stop();
    waiter.join();
  }
}

/// AddressSanitizer sees a notifier that comes back to what its waiter has ended.
TYPED_TEST(ConditionStress, may_be_destroyed_by_whom_it_has_notified) {
  const unsigned rounds = scaled(20'000);
  typename TestFixture::lock mine;
  struct place {
    typename TestFixture::condition changed;
    bool waits = false;
  };
  std::atomic<place*> handed{nullptr};
  std::thread notifier{[&] {
    for (unsigned i = 0; i < rounds; ++i) {
      place* at = nullptr;
      while ((at = handed.exchange(nullptr, std::memory_order_acquire)) == nullptr) {
        std::this_thread::yield();
      }
      for (bool waits = false; !waits; std::this_thread::yield()) {
        const std::lock_guard held{mine};
        waits = at->waits;
      }
      i % 2 == 0 ? at->changed.notify_one() : at->changed.notify_all();
    }
  }};
  for (unsigned i = 0; i < rounds; ++i) {
    const auto at = std::make_unique<place>();
    std::unique_lock held{mine};
    at->waits = true;
    handed.store(at.get(), std::memory_order_release);
    at->changed.wait(held);
  }
  notifier.join();
}

}  // namespace
}  // namespace lockyard::testing
