// SPDX-License-Identifier: Apache-2.0

// Threads that stop between two steps while others go on.

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/directed_world.hpp"
#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::hours;

template <class Lock>
class Steps : public ::testing::Test {
 protected:
  /// Gets the lock, and releases it.
  auto use() {
    return [this] {
      EXPECT_EQ(lock_.lock(), lock_errc::acquired);
      ++served_;
      lock_.unlock();
    };
  }
  /// Gives up after 10 ms.
  auto give_up() {
    return [this] { EXPECT_EQ(lock_.try_lock_for(milliseconds{10}), lock_errc::timed_out); };
  }
  /// An actor that is in the queue and has looked once.
  template <class Body>
  std::unique_ptr<actor> in_line(Body body) {
    auto made = std::make_unique<actor>(body);
    made->arrive();
    made->look();
    return made;
  }

  limits_for<Lock> limits_{patient};
  Lock lock_;
  std::atomic<int> served_{0};
};
using told_forms = both_forms<directed_world>;
TYPED_TEST_SUITE(Steps, told_forms, form_name);

/// A thread that passes the head's place on while the next one is on its way does not wait for it,
/// and that one is the head then, with a time of its own.
TYPED_TEST(Steps, of_a_newcomer_between_its_two_keep_no_head_from_leaving) {
  for (const bool stalls : {false, true}) {
    auto& lock = this->lock_;
    this->served_ = 0;
    ASSERT_TRUE(lock.lock());
    const auto pending = this->in_line(this->use());
    ASSERT_TRUE(TypeParam::set_stall_limits({stall_limits::never, milliseconds{10}}));
    const auto head = this->in_line([&] {
      EXPECT_EQ(stalls ? lock.lock() : lock.try_lock_for(milliseconds{10}), lock_errc::timed_out);
    });
    ASSERT_TRUE(TypeParam::set_stall_limits(patient));
    gate before_link;
    actor newcomer{[&] {
      const hooking hook{before_link.before(step_kind::fetch_add, 4)};
      this->use()();
    }};
    before_link.await();
    head->look_after(milliseconds{10});
    EXPECT_TRUE(head->is_over());
    before_link.open();
    newcomer.arrive();
    for (int i = 0; i < 100; ++i) newcomer.look_after(hours{1});
    EXPECT_FALSE(newcomer.is_over());
    lock.unlock();
    pending->join();
    newcomer.join();
    EXPECT_EQ(this->served_, 2);
    EXPECT_TRUE(is_free(lock));
  }
}

TYPED_TEST(Steps, of_a_newcomer_between_its_two_keep_no_head_from_the_lock) {
  ASSERT_TRUE(this->lock_.lock());
  const auto pending = this->in_line(this->use());
  const auto head = this->in_line(this->use());
  gate before_link;
  actor newcomer{[&] {
    const hooking hook{before_link.before(step_kind::fetch_add, 4)};
    this->use()();
  }};
  before_link.await();
  this->lock_.unlock();
  head->join();
  before_link.open();
  newcomer.join();
  EXPECT_EQ(this->served_, 3);
  EXPECT_TRUE(is_free(this->lock_));
}

/// No thread is behind the head when it looks, and one is when it closes the queue; or
/// links after the head has found the queue longer, and before it says that it has passed.
TYPED_TEST(Steps, of_a_head_that_leaves_lose_no_newcomer) {
  for (const step_kind where : {step_kind::compare_exchange, step_kind::fetch_or}) {
    this->served_ = 0;
    ASSERT_TRUE(this->lock_.lock());
    const auto pending = this->in_line(this->use());
    gate leaving;
    leaving.disarm();
    const auto head = this->in_line([&] {
      const hooking hook{leaving.before(where, 4)};
      this->give_up()();
    });
    gate before_link;
    std::unique_ptr<actor> newcomer;
    const auto come = [&] {
      newcomer = std::make_unique<actor>([&] {
        const hooking hook{before_link.before(step_kind::fetch_add, 4)};
        this->use()();
      });
      before_link.await();
    };
    if (where == step_kind::fetch_or) come();
    leaving.arm();
    directed_world::now_ns += 10'000'000;
    head->let_look();
    leaving.await();
    if (where == step_kind::compare_exchange) come();
    before_link.open();
    newcomer->arrive();
    newcomer->look();
    leaving.open();
    head->join();
    this->lock_.unlock();
    newcomer->join();
    pending->join();
    EXPECT_EQ(this->served_, 2);
    EXPECT_TRUE(is_free(this->lock_));
  }
}

/// Two claim the pending place although there is a queue by then. The first one to do so takes that
/// back, both enqueue, and the head gets the lock as soon as it is not claimed.
TYPED_TEST(Steps, of_claims_that_come_too_late_keep_nobody_from_the_lock) {
  std::array<gate, 2> before_claim;
  gate before_return;
  ASSERT_TRUE(this->lock_.lock());
  std::vector<std::unique_ptr<actor>> late;
  for (std::size_t i = 0; i < 2; ++i) {
    late.push_back(std::make_unique<actor>([&, i] {
      const hooking hook{[&, i, claims = false](step each) mutable {
        if (each.bytes != 4) return;
        if (each.kind == step_kind::fetch_or) {
          before_claim[i].stop();
          claims = true;
        } else if (each.kind == step_kind::compare_exchange && claims && i == 0) {
          before_return.stop();
        }
      }};
      this->use()();
    }));
    before_claim[i].await();
  }
  const auto pending = this->in_line(this->give_up());
  const auto head = this->in_line(this->use());
  pending->look_after(milliseconds{10});
  EXPECT_TRUE(pending->is_over());
  before_claim[0].open();
  before_return.await();
  before_claim[1].open();
  late[1]->arrive();
  this->lock_.unlock();
  for (int i = 0; i < 3; ++i) head->look();
  EXPECT_FALSE(head->is_over());
  before_return.open();
  for (const auto& each : late) each->join();
  head->join();
  EXPECT_EQ(this->served_, 3);
  EXPECT_TRUE(is_free(this->lock_));
}

/// Its own time is over at the moment in which it is granted the head's place: then it is the head,
/// and takes a lock that is free, or passes the place on.
TYPED_TEST(Steps, of_a_waiter_that_leaves_when_it_is_granted_lose_nobody) {
  for (const bool is_released : {false, true}) {
    auto& lock = this->lock_;
    this->served_ = 0;
    gate before_cancel;
    before_cancel.disarm();
    std::atomic<bool> has_it{false};
    std::atomic<bool> may_leave{false};
    lock_errc how = lock_errc::deadlock;
    ASSERT_TRUE(lock.lock());
    const auto first = this->in_line(this->use());
    const auto second = this->in_line([&] {
      EXPECT_EQ(lock.lock(), lock_errc::acquired);
      has_it = true;
      await([&] { return may_leave.load(); });
      lock.unlock();
    });
    const auto leaver = this->in_line([&] {
      const hooking hook{before_cancel.before(step_kind::fetch_or, 4)};
      how = lock.try_lock_for(milliseconds{10}).code();
      if (how == lock_errc::acquired) lock.unlock();
    });
    const auto last = this->in_line(this->use());
    before_cancel.arm();
    directed_world::now_ns += 10'000'000;
    leaver->let_look();
    before_cancel.await();
    lock.unlock();
    await([&] { return has_it.load(); });
    if (is_released) {
      may_leave = true;
      second->join();
    }
    const int before = leaver->come();
    before_cancel.open();
    leaver->arrive(before + 1);
    if (!is_released) leaver->look();
    leaver->join();
    may_leave = true;
    last->join();
    EXPECT_EQ(how, is_released ? lock_errc::acquired : lock_errc::timed_out);
    EXPECT_EQ(this->served_, 2);
    EXPECT_TRUE(is_free(lock));
  }
}

/// A sleeper's request to the owner is of no use to any thread when the last one leaves after
/// the release.
TYPED_TEST(Steps, of_the_last_waiter_that_leaves_leave_the_lock_free) {
  for (const std::size_t place : {0U, 1U}) {
    ASSERT_TRUE(this->lock_.lock());
    gate leaving;
    leaving.disarm();
    const auto give_up = [&] {
      // A time-out is certain when it has looked; next it takes itself out of the word.
      const hooking hook{leaving.before(step_kind::compare_exchange, 4)};
      this->give_up()();
    };
    const auto first = this->in_line(give_up);
    directed_world::now_ns += 5'000'000;
    const auto last = place == 1 ? this->in_line(give_up) : nullptr;
    if (place == 1) first->look_after(milliseconds{5});
    const auto& leaver = place == 1 ? last : first;
    leaver->look();
    leaving.arm();
    directed_world::now_ns += 10'000'000;
    leaver->let_look();
    leaving.await();
    this->lock_.unlock();
    leaving.open();
    leaver->join();
    EXPECT_TRUE(is_free(this->lock_));
  }
}

/// The lock is free, but still in the table of who has just released it; and that one waits for
/// no other thread.
TYPED_TEST(Steps, between_release_and_removal_are_no_deadlock) {
  auto& lock = this->lock_;
  TypeParam other;
  gate before_removal;
  team threads;
  threads.start([&] {
    ASSERT_TRUE(lock.lock());
    ASSERT_TRUE(other.lock());
    {
      // The store that marks the entry, the one that removes it.
      const hooking hook{before_removal.before(step_kind::store, 8, 2)};
      other.unlock();
    }
    lock.unlock();
  });
  before_removal.await();
  const auto second = this->in_line([&] {
    ASSERT_EQ(other.lock(), lock_errc::acquired);
    this->use()();
    other.unlock();
  });
  for (int i = 0; i < 10; ++i) second->look();
  EXPECT_FALSE(second->is_over());
  before_removal.open();
  second->join();
  EXPECT_EQ(this->served_, 1);
}

}  // namespace
}  // namespace lockyard::testing
