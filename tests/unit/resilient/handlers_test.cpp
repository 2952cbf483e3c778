// SPDX-License-Identifier: Apache-2.0

// Signal handlers that lock, wherever in a lock or unlock they come.

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <functional>
#include <vector>

#include "support/callback_world.hpp"
#include "support/resilient.hpp"

#if defined(__SANITIZE_THREAD__)
// These handlers come where the test raises their signal, which is never inside of an allocation.
extern "C" const char* __tsan_default_options() {
  return "report_signal_unsafe=0";
}
#endif

namespace lockyard::testing {
namespace {

/// The handler's action; set by the test.
std::function<void()> in_handler;

/// SIGUSR1 runs `in_handler`, in a handler too, to the end of the scope.
class handling {
 public:
  explicit handling(std::function<void()> what) {
    in_handler = std::move(what);
    struct sigaction action {};
    action.sa_handler = [](int) { in_handler(); };
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, &before_);
  }
  handling(const handling&) = delete;
  handling& operator=(const handling&) = delete;
  ~handling() { sigaction(SIGUSR1, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

/// A hook that raises the signal before the n-th step from now on. Looks at a word, of which a wait
/// has any number, do not count.
step_hook raises_before(int nth) {
  return [left = nth](step each) mutable {
    const bool is_look = each.kind == step_kind::load && each.bytes == 4;
    if (!is_look && --left == 0) std::raise(SIGUSR1);
  };
}

template <class Lock>
class Handlers : public ::testing::Test {};
using hooked_forms = both_forms<callback_world>;
TYPED_TEST_SUITE(Handlers, hooked_forms, form_name);

constexpr int steps_of_lock_and_unlock = 40;  // more than there are

/// The code that it interrupted notices nothing.
TYPED_TEST(Handlers, get_the_lock_where_it_is_free_and_otherwise_a_deadlock) {
  TypeParam lock;
  ASSERT_TRUE(lock.lock());  // opens the thread's table
  lock.unlock();
  std::vector<lock_errc> how;
  const handling handler{[&] {
    const lock_result mine = lock.lock();
    how.push_back(mine.code());
    if (mine) lock.unlock();
  }};
  for (int nth = 1; nth < steps_of_lock_and_unlock; ++nth) {
    {
      const hooking hook{raises_before(nth)};
      ASSERT_EQ(lock.lock(), lock_errc::acquired) << nth;
      lock.unlock();
    }
    ASSERT_TRUE(listed<TypeParam>().empty()) << nth;
    ASSERT_TRUE(is_free(lock)) << nth;
  }
  // Before: an entry is found empty, is written, the lock is taken; its entry is found, marked, the
  // lock is released; the entry is removed.
  constexpr auto free = lock_errc::acquired, held = lock_errc::deadlock;
  EXPECT_EQ(how, (std::vector{free, free, free, held, held, held, free}));
}

/// A thread waits for it, so the handler would have to wait behind a thread that waits for what it
/// interrupted.
TYPED_TEST(Handlers, get_a_deadlock_until_a_contended_unlock_is_over) {
  const limits_for<TypeParam> limits{patient};
  for (int nth = 1; nth <= 4; ++nth) {
    TypeParam lock;
    std::vector<lock_errc> how;
    std::atomic<bool> may_leave{false};
    const handling handler{
        [&] { how.push_back(lock.try_lock_for(std::chrono::seconds{60}).code()); }};
    ASSERT_TRUE(lock.lock());
    team waiters;
    for (int i = 0; i < 2; ++i) {
      waiters.enter(lock, [&] {
        ASSERT_TRUE(lock.lock());
        await([&] { return may_leave.load(); });
        lock.unlock();
      });
    }
    {
      const hooking hook{raises_before(nth)};
      lock.unlock();
    }
    EXPECT_TRUE(listed<TypeParam>().empty());
    may_leave = true;
    waiters.join();
    EXPECT_EQ(how, std::vector{lock_errc::deadlock}) << nth;
  }
}

/// A cycle through a lock whose unlock a handler has interrupted: no other thread can release it.
TYPED_TEST(Handlers, close_a_cycle_when_they_come_before_a_release) {
  const limits_for<TypeParam> limits{short_limits()};
  for (int nth = 1; nth <= 3; ++nth) {  // finds the entry, marks it, releases the lock
    TypeParam lock, other;
    lock_errc mine = lock_errc::acquired, theirs = lock_errc::acquired;
    std::atomic<bool> holds{false};
    ASSERT_TRUE(lock.lock());
    std::thread partner{[&] {
      ASSERT_TRUE(other.lock());
      holds = true;
      const limits_for<TypeParam> none{patient};
      theirs = lock.lock().code();
      if (theirs == lock_errc::acquired) lock.unlock();
      other.unlock();
    }};
    await([&] { return holds.load(); });
    await_waiters(lock, 1);
    const handling handler{[&] {
      mine = other.lock().code();
      if (mine == lock_errc::acquired) other.unlock();
    }};
    {
      const hooking hook{raises_before(nth)};
      lock.unlock();
    }
    partner.join();
    EXPECT_TRUE(mine == lock_errc::deadlock || theirs == lock_errc::deadlock) << nth;
    EXPECT_TRUE(is_free(lock) && is_free(other));
  }
}

TYPED_TEST(Handlers, may_use_another_lock_before_each_step) {
  TypeParam lock, other;
  const handling handler{[&] {
    const auto before = listed<TypeParam>();
    EXPECT_EQ(other.lock(), lock_errc::acquired);
    EXPECT_EQ(other.lock(), lock_errc::deadlock);
    other.unlock();
    EXPECT_EQ(listed<TypeParam>(), before);
  }};
  ASSERT_TRUE(lock.lock());
  lock.unlock();
  for (int nth = 1; nth < steps_of_lock_and_unlock; ++nth) {
    const hooking hook{raises_before(nth)};
    TypeParam second;
    ASSERT_TRUE(lock.lock());
    ASSERT_TRUE(second.lock());
    EXPECT_EQ(lock.lock(), lock_errc::deadlock);
    lock.unlock();  // not the last one in the table
    second.unlock();
    EXPECT_TRUE(listed<TypeParam>().empty());
  }
}

// ThreadSanitizer runs handlers in handlers in its own way, and does not come to an end here.
#if !defined(__SANITIZE_THREAD__)
/// A handler that comes at each step, in handlers too, five deep.
TYPED_TEST(Handlers, may_be_interrupted_by_handlers) {
  constexpr std::size_t most = 5;
  std::array<TypeParam, most + 1> locks;
  std::size_t depth = 0;
  std::size_t deepest = 0;
  const handling handler{[&] {
    ++depth;
    deepest = std::max(deepest, depth);
    const auto before = listed<TypeParam>();
    for (std::size_t i = 0; i <= depth; ++i) {
      if (depth < most) before_step = nullptr;
      const lock_result how = locks[i].lock();
      EXPECT_TRUE(how == lock_errc::acquired || how == lock_errc::deadlock);
      if (depth < most) std::raise(SIGUSR1);
      if (how) locks[i].unlock();
      if (depth < most && i % 2 == 0) break;
    }
    EXPECT_EQ(listed<TypeParam>(), before);
    --depth;
  }};
  ASSERT_TRUE(locks[0].lock());
  locks[0].unlock();
  for (int nth = 1; nth < 12; ++nth) {
    {
      const hooking hook{raises_before(nth)};
      ASSERT_EQ(locks[0].lock(), lock_errc::acquired);
      locks[0].unlock();
    }
    ASSERT_TRUE(listed<TypeParam>().empty());
  }
  EXPECT_EQ(deepest, most);
  for (auto& lock : locks) EXPECT_TRUE(is_free(lock));
}

#endif

/// While it waits, its handlers do too; what others can read of the interrupted wait is there again
/// afterwards.
TYPED_TEST(Handlers, may_wait_before_each_step_of_a_wait) {
  const limits_for<TypeParam> limits{patient};
  int interrupted_waits = 0;
  for (int nth = 1; nth < 40; ++nth) {
    TypeParam outer{"outer"}, inner{"inner"};
    ASSERT_TRUE(outer.lock());
    ASSERT_TRUE(inner.lock());
    std::atomic<int> turns{0};  // odd while the handler runs
    const handling handler{[&] {
      ++turns;
      EXPECT_EQ(inner.try_lock_for(std::chrono::microseconds{200}), lock_errc::timed_out);
      EXPECT_EQ(outer.lock(), lock_errc::deadlock);
      ++turns;
    }};
    std::thread waiter{[&] {
      TypeParam own;
      EXPECT_TRUE(own.lock());  // opens the thread's table
      own.unlock();
      {
        // Before the first two steps it would not be this thread's yet.
        const hooking hook{raises_before(nth + 2)};
        EXPECT_EQ(outer.lock(), lock_errc::acquired);
      }
      outer.unlock();
    }};
    await_waiters(outer, 1);
    using tables = tables_of<TypeParam>;
    for (std::size_t slot = 0; slot < tables::count(); ++slot) {
      const auto& table = tables::of(slot);
      await([&] { return turns % 2 == 0; });
      const int before = turns;
      if (table.wait.load(std::memory_order_acquire) == 0) continue;
      const char* const name = table.name.read();
      if (turns != before) continue;
      EXPECT_STREQ(name, "outer") << nth;
      ++interrupted_waits;
    }
    outer.unlock();
    waiter.join();
    inner.unlock();
    EXPECT_TRUE(is_free(outer) && is_free(inner));
  }
  EXPECT_GT(interrupted_waits, 0);
}

}  // namespace
}  // namespace lockyard::testing
