// SPDX-License-Identifier: Apache-2.0

// Built with LOCKYARD_DEBUG: every lock is watched, and what is done wrong is reported.

#include <lockyard/debug.hpp>
#include <lockyard/lockyard.hpp>
#include <lockyard/world/debugging.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catalog_types.hpp"
#include "support/debug_reports.hpp"
#include "support/exclusion.hpp"

using lockyard::futex_mutex;

// With C linkage and exported, so that the dynamic linker knows their names.
extern "C" [[gnu::noinline]] void takes_first_then_second(futex_mutex& first, futex_mutex& second) {
  const std::scoped_lock outer{first};
  const std::scoped_lock inner{second};
}
extern "C" [[gnu::noinline]] void takes_second_then_first(futex_mutex& first, futex_mutex& second) {
  const std::scoped_lock outer{second};
  const std::scoped_lock inner{first};
}

extern "C" [[gnu::noinline]] void asserts_held(const futex_mutex& lock) {
  lock.assert_held();
  std::atomic_signal_fence(std::memory_order_seq_cst);  // no jump in place of the call
}

namespace lockyard::testing {
namespace {

using debug::problem;

bool passes_through(const debug::place& where, const std::string& function) {
  for (const void* const call : where.stack.calls) {
    Dl_info info{};
    if (call == nullptr || dladdr(call, &info) == 0 || info.dli_sname == nullptr) continue;
    if (info.dli_sname == function) return true;
  }
  return false;
}

class Debugging : public ::testing::Test {
 protected:
  std::deque<record>& records = recording::records;

 private:
  recording reports_;
};

TEST_F(Debugging, reports_two_orders_with_the_places_and_threads_of_both) {
  futex_mutex first;
  futex_mutex second;
  std::thread{[&] { takes_first_then_second(first, second); }}.join();
  takes_second_then_first(first, second);
  ASSERT_EQ(records.size(), 1U);
  ASSERT_EQ(records[0].kind, problem::lock_order);
  const auto& steps = records[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].lock.address, &first);
  EXPECT_EQ(steps[0].held.address, &second);
  EXPECT_TRUE(passes_through(steps[0].at, "takes_second_then_first"));
  EXPECT_TRUE(passes_through(steps[0].since, "takes_second_then_first"));
  EXPECT_EQ(steps[1].lock.address, &second);
  EXPECT_EQ(steps[1].held.address, &first);
  EXPECT_TRUE(passes_through(steps[1].at, "takes_first_then_second"));
  EXPECT_TRUE(passes_through(steps[1].since, "takes_first_then_second"));
  EXPECT_NE(steps[0].at.thread, steps[1].at.thread);
}

TEST_F(Debugging, reports_a_pair_once) {
  futex_mutex first;
  futex_mutex second;
  for (int i = 0; i < 3; ++i) {
    takes_first_then_second(first, second);
    takes_second_then_first(first, second);
  }
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(Debugging, reports_a_ring_of_three_locks) {
  futex_mutex a;
  futex_mutex b;
  futex_mutex c;
  takes_first_then_second(a, b);
  takes_first_then_second(b, c);
  EXPECT_TRUE(records.empty());
  takes_first_then_second(c, a);
  ASSERT_EQ(records.size(), 1U);
  const auto& steps = records[0].steps;
  ASSERT_EQ(steps.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(steps[i].held.address, steps[(i + 1) % 3].lock.address);
  }
}

TEST_F(Debugging, accepts_one_order_from_many_threads) {
  futex_mutex first;
  futex_mutex second;
  std::vector<std::thread> team;
  for (int i = 0; i < 4; ++i) {
    team.emplace_back([&] {
      for (int round = 0; round < 100; ++round) takes_first_then_second(first, second);
    });
  }
  for (auto& each : team) each.join();
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, accepts_both_orders_where_one_only_tries) {
  futex_mutex first;
  futex_mutex second;
  takes_first_then_second(first, second);
  second.lock();
  if (first.try_lock()) first.unlock();
  second.unlock();
  const std::scoped_lock backing_off{second, first};
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, counts_a_lock_as_held_that_was_only_tried) {
  futex_mutex first;
  futex_mutex second;
  takes_first_then_second(first, second);
  ASSERT_TRUE(second.try_lock());
  first.lock();
  first.unlock();
  second.unlock();
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(Debugging, accepts_hand_over_hand) {
  std::array<futex_mutex, 8> chain;
  for (int walk = 0; walk < 2; ++walk) {
    chain[0].lock();
    for (std::size_t i = 1; i < chain.size(); ++i) {
      chain[i].lock();
      chain[i - 1].unlock();
    }
    chain.back().unlock();
  }
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, forgets_the_orders_of_a_lock_that_is_destroyed) {
  std::optional<futex_mutex> here;
  futex_mutex other;
  takes_first_then_second(here.emplace(), other);
  takes_first_then_second(other, here.emplace());
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, names_the_holder_when_another_thread_unlocks) {
  futex_mutex lock;
  lock.lock();
  std::thread{[&] { lock.unlock(); }}.join();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, problem::unlock_by_other_thread);
  EXPECT_NE(records[0].steps[0].at.thread, records[0].steps[0].since.thread);
  lock.lock();
  lock.unlock();
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(Debugging, names_the_holder_and_the_place_of_an_assertion_that_is_not_true) {
  futex_mutex lock;
  lock.lock();
  std::thread{[&] { asserts_held(lock); }}.join();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, problem::asserted_held);
  const debug::step& step = records[0].steps[0];
  EXPECT_EQ(step.lock.address, &lock);
  EXPECT_TRUE(passes_through(step.at, "asserts_held"));
  EXPECT_NE(step.since.thread, 0);
  EXPECT_NE(step.at.thread, step.since.thread);
  lock.unlock();
  EXPECT_EQ(records.size(), 1U) << "an assertion changes nothing";
}

TEST_F(Debugging, asserts_nothing_of_a_lock_without_owner) {
  semaphore_mutex lock;
  lock.assert_held();
  lock.lock();
  lock.assert_not_held();
  lock.unlock();
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, lets_a_recursive_lock_go_on_where_the_handler_returns) {
  recursive_mutex<> lock;
  lock.assert_held();
  lock.lock();
  lock.assert_not_held();
  lock.unlock();
  EXPECT_EQ(records.size(), 2U);
}

TEST_F(Debugging, makes_no_order_with_a_lock_that_another_thread_has_unlocked) {
  futex_mutex handed_over;
  futex_mutex other;
  futex_mutex third;
  takes_first_then_second(handed_over, third);  // so that it is not forgotten
  handed_over.lock();
  std::thread{[&] { handed_over.unlock(); }}.join();
  other.lock();
  other.unlock();
  takes_first_then_second(other, handed_over);
  EXPECT_EQ(records.size(), 1U) << "the unlock alone";
}

TEST_F(Debugging, reports_a_lock_that_is_destroyed_while_it_is_waited_for) {
  auto lock = std::make_unique<futex_mutex>();
  debugging::acquiring wait{lock.get(), debugging::trying};
  lock.reset();
  wait.result(false);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, problem::destroyed_while_waited_for);
}

TEST_F(Debugging, reports_two_orders_in_one_of_which_a_lock_is_shared) {
  shared_mutex first;
  futex_mutex second;
  first.lock_shared();
  second.lock();
  second.unlock();
  first.unlock_shared();
  const std::scoped_lock outer{second};
  const std::shared_lock inner{first};
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, problem::lock_order);
}

TEST_F(Debugging, accepts_readers_upgraders_and_writers_that_come_and_go) {
  shared_mutex lock;
  const auto uses = [&lock] {
    for (int i = 0; i < 200; ++i) {
      {
        const std::shared_lock reads{lock};
      }
      lock.lock_upgrade();
      lock.unlock_upgrade_and_lock();
      lock.unlock_and_lock_shared();
      lock.unlock_shared();
    }
  };
  std::thread other{uses};
  uses();
  other.join();
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, accepts_what_a_recursive_lock_and_one_without_owner_allow) {
  recursive_mutex<> recursive;
  futex_mutex other;
  recursive.lock();
  other.lock();
  recursive.lock();
  EXPECT_TRUE(recursive.try_lock());
  EXPECT_TRUE(recursive.try_lock_for(std::chrono::milliseconds{1}));
  for (int unlocks = 0; unlocks < 3; ++unlocks) recursive.unlock();
  other.unlock();
  recursive.unlock();
  semaphore_mutex ownerless;
  ownerless.lock();
  std::thread{[&] { ownerless.unlock(); }}.join();
  EXPECT_TRUE(records.empty());
}

TEST_F(Debugging, reports_two_orders_of_a_recursive_lock_and_another_one) {
  recursive_mutex<> first;
  futex_mutex second;
  {
    const std::scoped_lock outer{first};
    const std::scoped_lock inner{second};
  }
  const std::scoped_lock outer{second};
  const std::scoped_lock inner{first};
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, problem::lock_order);
  EXPECT_EQ(records[0].steps[0].lock.address, &first);
}

TEST_F(Debugging, lets_a_handler_use_locks) {
  static futex_mutex used_by_handler;
  debug::set_handler([](const debug::report& found) noexcept {
    const std::scoped_lock guard{used_by_handler};
    recording::keep(found);
  });
  futex_mutex lock;
  lock.unlock();
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(Debugging, lets_a_static_lock_be_held_when_the_process_ends) {
  const auto ends = [] {
    debug::set_handler(&debug::abort_always);
    static futex_mutex lock;
    lock.lock();
    std::exit(0);
  };
  EXPECT_EXIT(ends(), ::testing::ExitedWithCode(0), "");
}

TEST_F(Debugging, says_once_that_there_is_too_much_to_remember_and_reports_nothing_wrong) {
  const auto overflows = [] {
    std::vector<futex_mutex> many(debug::detail::lock_watch::most_locks + 10);
    for (auto& each : many) each.lock();
    for (auto& each : many) each.unlock();
    const auto& reports = recording::records;
    std::exit(reports.size() == 1 && reports[0].kind == problem::overflow ? 0 : 1);
  };
  EXPECT_EXIT(overflows(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lockyard::testing
