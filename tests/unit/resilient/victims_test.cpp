// SPDX-License-Identifier: Apache-2.0

// The victims of cycles: waiters look one at a time, when the test says so.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/directed_world.hpp"
#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class Victims : public ::testing::Test {};
TYPED_TEST_SUITE(Victims, both_forms<directed_world>, form_name);

constexpr resilience every_detector{.victim = deadlock_victim::detector};
template <class Lock>
class DetectorVictims : public ::testing::Test {};
using detector_forms = both_forms<directed_world, every_detector>;
TYPED_TEST_SUITE(DetectorVictims, detector_forms, form_name);

/// A ring of actors: each holds its lock and wants the next one's. Their tables are in the order of
/// their numbers.
template <class Lock>
class ring {
 public:
  explicit ring(std::size_t length) : locks_(length), how_(length), may_begin_(length) {
    for (std::size_t i = 0; i < length; ++i) {
      actors_.push_back(std::make_unique<actor>([this, i] { play(i); }));
      await([&] { return holding_ == i + 1; });
    }
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { join(); }

  /// It begins to wait, and looks for the first time.
  void begin(std::size_t i) {
    may_begin_[i] = true;
    actors_[i]->arrive();
    actors_[i]->look();
  }
  void look(std::size_t i) { actors_[i]->look(); }
  [[nodiscard]] bool is_over(std::size_t i) const { return actors_[i]->is_over(); }
  void join() { actors_.clear(); }
  /// Whether all but this one got what they wanted. To be asked after join().
  [[nodiscard]] bool has_one_victim(std::size_t victim) const {
    for (std::size_t i = 0; i < how_.size(); ++i) {
      if (how_[i] != (i == victim ? lock_errc::deadlock : lock_errc::acquired)) return false;
    }
    return true;
  }

 private:
  void play(std::size_t i) {
    EXPECT_TRUE(locks_[i].lock());
    ++holding_;
    await([&] { return may_begin_[i].load(); });
    Lock& next = locks_[(i + 1) % locks_.size()];
    how_[i] = next.lock().code();
    if (how_[i] == lock_errc::acquired) next.unlock();
    locks_[i].unlock();
  }

  limits_for<Lock> limits_{patient};
  std::vector<Lock> locks_;
  std::vector<lock_errc> how_;
  std::vector<std::atomic<bool>> may_begin_;
  std::atomic<std::size_t> holding_{0};
  std::vector<std::unique_ptr<actor>> actors_;
};

TYPED_TEST(Victims, are_the_youngest_of_a_cycle_and_nobody_else) {
  for (std::size_t length = 2; length <= 8; ++length) {
    for (std::size_t youngest = 0; youngest < length; ++youngest) {
      ring<TypeParam> threads{length};
      for (std::size_t i = 1; i <= length; ++i) {
        for (std::size_t each = 0; each < length; ++each) EXPECT_FALSE(threads.is_over(each));
        directed_world::now_ns += 1000;
        threads.begin((youngest + i) % length);
      }
      threads.join();
      EXPECT_TRUE(threads.has_one_victim(youngest)) << youngest << " of " << length;
    }
  }
}

TYPED_TEST(Victims, among_equals_have_the_last_table) {
  ring<TypeParam> threads{3};
  for (const std::size_t i : {2U, 1U, 0U}) threads.begin(i);
  for (const std::size_t i : {1U, 0U, 1U}) {
    threads.look(i);
    EXPECT_FALSE(threads.is_over(i));
  }
  threads.look(2);
  threads.join();
  EXPECT_TRUE(threads.has_one_victim(2));
}

TYPED_TEST(Victims, are_others_if_the_chosen_one_has_not_left_at_their_third_look) {
  ring<TypeParam> threads{3};
  for (const std::size_t i : {2U, 1U, 0U}) threads.begin(i);  // 0 has seen the cycle once
  threads.look(0);
  EXPECT_FALSE(threads.is_over(0));
  threads.look(0);
  threads.join();
  EXPECT_TRUE(threads.has_one_victim(0));
}

TYPED_TEST(DetectorVictims, are_whoever_finds_the_cycle) {
  ring<TypeParam> threads{3};
  for (const std::size_t i : {2U, 1U, 0U}) threads.begin(i);
  threads.join();
  EXPECT_TRUE(threads.has_one_victim(0));
}

}  // namespace
}  // namespace lockyard::testing
