// SPDX-License-Identifier: Apache-2.0

// [thread.req.timing]: what all functions that end in _for or _until have in common, of locks,
// semaphores and condition variables.

#include <condition_variable>
#include <mutex>
#include <ratio>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

/// A lock that another thread holds until `end_wait`; waits to own it, or to share it.
template <class Lock, bool Shares>
class waits_for_a_lock {
 public:
  static constexpr bool throws_nothing = !traits_of<Lock>().recovering;

  waits_for_a_lock() { is_locked_.await(); }
  waits_for_a_lock(const waits_for_a_lock&) = delete;
  waits_for_a_lock& operator=(const waits_for_a_lock&) = delete;
  ~waits_for_a_lock() { end_wait(); }

  template <class Duration>
  bool wait_for(const Duration& duration) noexcept(throws_nothing) {
    if constexpr (Shares) {
      static_assert(noexcept(lock_.try_lock_shared_for(duration)) == throws_nothing);
      return lock_.try_lock_shared_for(duration);
    } else {
      static_assert(noexcept(lock_.try_lock_for(duration)) == throws_nothing);
      return lock_.try_lock_for(duration);
    }
  }
  template <class Limit>
  bool wait_until(const Limit& limit) noexcept(throws_nothing) {
    if constexpr (Shares) {
      static_assert(noexcept(lock_.try_lock_shared_until(limit)) == throws_nothing);
      return lock_.try_lock_shared_until(limit);
    } else {
      static_assert(noexcept(lock_.try_lock_until(limit)) == throws_nothing);
      return lock_.try_lock_until(limit);
    }
  }
  void end_wait() { may_unlock_.raise(); }
  void leave() {
    if constexpr (Shares) {
      lock_.unlock_shared();
    } else {
      lock_.unlock();
    }
  }

 private:
  Lock lock_;
  flag is_locked_;
  flag may_unlock_;
  std::jthread owner_{[this] {
    lock_.lock();
    is_locked_.raise();
    may_unlock_.await();
    lock_.unlock();
  }};
};

/// A semaphore that has no permit until `end_wait`.
class waits_for_a_permit {
 public:
  template <class Duration>
  bool wait_for(const Duration& duration) {
    static_assert(noexcept(permits_.try_acquire_for(duration)));
    return permits_.try_acquire_for(duration);
  }
  template <class Limit>
  bool wait_until(const Limit& limit) {
    static_assert(noexcept(permits_.try_acquire_until(limit)));
    return permits_.try_acquire_until(limit);
  }
  void end_wait() { permits_.release(); }
  void leave() {}

 private:
  semaphore permits_{0};
};

/// A condition variable that is notified by `end_wait` alone. Other ends of waits have no reason.
template <class Condition>
class waits_for_a_notification {
 public:
  template <class Duration>
  bool wait_for(const Duration& duration) {
    static_assert(noexcept(changed_.wait_for(mutex_, duration)));
    return wait([&] { return changed_.wait_for(mutex_, duration); });
  }
  template <class Limit>
  bool wait_until(const Limit& limit) {
    static_assert(noexcept(changed_.wait_until(mutex_, limit)));
    return wait([&] { return changed_.wait_until(mutex_, limit); });
  }
  void end_wait() {
    const std::lock_guard held{mutex_};
    is_over_ = true;
    changed_.notify_one();
  }
  void leave() {}

 private:
  bool wait(const std::function<std::cv_status()>& once) {
    const std::lock_guard held{mutex_};
    while (!is_over_) {
      if (once() == std::cv_status::timeout) return is_over_;
    }
    return true;
  }

  Condition changed_;
  mutex mutex_;
  bool is_over_ = false;
};

template <class... Locks, class... Shared>
auto all_waits(::testing::Types<Locks...>, ::testing::Types<Shared...>)
    -> ::testing::Types<waits_for_a_permit, waits_for_a_notification<condition_variable>,
                        waits_for_a_notification<condition_variable_any>,
                        waits_for_a_lock<Shared, true>..., waits_for_a_lock<Locks, false>...>;

struct wait_name {
  template <class Lock, bool Shares>
  static std::string name(std::type_identity<waits_for_a_lock<Lock, Shares>>) {
    return catalog_name::GetName<Lock>(0) + (Shares ? "_shared" : "");
  }
  static std::string name(std::type_identity<waits_for_a_permit>) { return "semaphore"; }
  static std::string name(std::type_identity<waits_for_a_notification<condition_variable>>) {
    return "condition_variable";
  }
  static std::string name(std::type_identity<waits_for_a_notification<condition_variable_any>>) {
    return "condition_variable_any";
  }
  template <class Wait>
  static std::string GetName(int /*index*/) {
    return name(std::type_identity<Wait>{});
  }
};

template <class Wait>
class ThreadReqTiming : public ::testing::Test {
 protected:
  template <class Duration>
  void expect_no_early_time_out(const Duration& duration) {
    const auto start = steady::now();
    EXPECT_FALSE(wait_.wait_for(duration));
    EXPECT_GE(steady::now() - start, duration);
  }
  template <class Limit>
  void expect_no_return_before(const Limit& limit) {
    EXPECT_FALSE(wait_.wait_until(limit));
    EXPECT_GE(Limit::clock::now(), limit);
  }

  Wait wait_;
};
using waits = decltype(all_waits(our_timed_locks{}, our_shared_timed_locks{}));
TYPED_TEST_SUITE(ThreadReqTiming, waits, wait_name);

/// A relative time-out is measured by the steady clock, and lasts for no less than was asked.
TYPED_TEST(ThreadReqTiming, p3_a_relative_time_out_lasts_by_the_steady_clock) {
  this->expect_no_early_time_out(1ms);
  this->expect_no_early_time_out(std::chrono::duration<double>{0.0015});
  this->expect_no_early_time_out(std::chrono::duration<float, std::micro>{700.5F});
  this->expect_no_early_time_out(std::chrono::duration<long, std::pico>{300'000'001});
  this->expect_no_early_time_out(std::chrono::hours::min());
}

/// No duration is too long for the arithmetic: such a wait ends by what it waits for.
TYPED_TEST(ThreadReqTiming, p3_the_longest_durations_do_not_overflow) {
  std::jthread other{[&] {
    give_others_time();
    this->wait_.end_wait();
  }};
  ASSERT_TRUE(this->wait_.wait_for(std::chrono::hours::max()));
  this->wait_.leave();
}

/// An absolute time-out is measured by the clock of the time point.
TYPED_TEST(ThreadReqTiming, p4_an_absolute_time_out_comes_when_its_clock_says_so) {
  this->expect_no_return_before(steady::now() + 1ms);
  this->expect_no_return_before(std::chrono::system_clock::now() + 1ms);
  this->expect_no_return_before(
      std::chrono::time_point_cast<std::chrono::duration<double>>(steady::now()) + 1ms);
}

/// A clock that runs at half the speed makes the wait twice as long.
TYPED_TEST(ThreadReqTiming, p4_an_absolute_time_out_waits_for_a_slow_clock) {
  this->expect_no_return_before(slow_clock::now() + 2ms);
}

/// A clock that is set back during the wait ends it only when the clock has reached the limit.
TYPED_TEST(ThreadReqTiming, p4_an_absolute_time_out_waits_for_a_clock_that_was_set_back) {
  adjusted_clock::readings = 0;
  this->expect_no_return_before(adjusted_clock::now() + 1ms);
}

/// A limit beyond what the clock can count ends by what the thread waits for.
TYPED_TEST(ThreadReqTiming, p4_the_latest_limits_do_not_overflow) {
  std::jthread other{[&] {
    give_others_time();
    this->wait_.end_wait();
  }};
  using in_hours = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
  ASSERT_TRUE(this->wait_.wait_until(in_hours::max()));
  this->wait_.leave();
}

/// The standard lets exceptions of clocks, time points and durations through. Here the functions
/// are noexcept, as the waits above assert, so these must not throw. Locks that recover throw what
/// they report.
TYPED_TEST(ThreadReqTiming, p8_differs_time_outs_let_no_exception_of_a_clock_through) {
  static_assert(noexcept(steady::now()) && noexcept(slow_clock::now()));
  this->expect_no_early_time_out(1us);
  this->expect_no_return_before(slow_clock::now() + 1us);
}

}  // namespace
}  // namespace lockyard::testing
