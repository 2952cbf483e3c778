// SPDX-License-Identifier: Apache-2.0
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lockyard {
namespace {

TEST(ThreadSlot, stays_the_same_for_a_thread) {
  EXPECT_EQ(native::thread_slot(), native::thread_slot());
}

TEST(ThreadSlot, differs_between_living_threads) {
  constexpr int threads = 20;
  std::set<std::uint32_t> slots;
  std::mutex guard;
  std::barrier all_have_one{threads};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      const std::uint32_t mine = native::thread_slot();
      all_have_one.arrive_and_wait();
      const std::scoped_lock lock{guard};
      slots.insert(mine);
    });
  }
  for (auto& thread : team) thread.join();
  EXPECT_EQ(slots.size(), std::size_t{threads});
}

TEST(ThreadSlot, is_used_again_after_its_thread_has_ended) {
  std::uint32_t first = no_slot;
  std::uint32_t second = no_slot;
  std::thread{[&] { first = native::thread_slot(); }}.join();
  std::thread{[&] { second = native::thread_slot(); }}.join();
  EXPECT_EQ(first, second);
}

TEST(SlotRegistry, has_no_slot_when_all_are_taken_and_gives_out_what_comes_back) {
  const auto registry = std::make_unique<detail::slot_registry>();
  for (std::uint32_t i = 0; i < detail::slot_registry::capacity; ++i) {
    ASSERT_EQ(registry->claim(), i);
  }
  EXPECT_EQ(registry->claim(), no_slot);
  registry->release(777);
  EXPECT_EQ(registry->claim(), 777U);
}

/// ThreadSanitizer sees the race if the slot does not hand over what was written under it.
TEST(SlotRegistry, hands_over_what_the_last_holder_of_a_slot_wrote) {
  const auto registry = std::make_unique<detail::slot_registry>();
  std::uint64_t kept[2] = {0, 0};
  const auto use = [&] {
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t slot = registry->claim();
      ++kept[slot];
      registry->release(slot);
    }
  };
  std::thread first{use};
  std::thread second{use};
  first.join();
  second.join();
  EXPECT_EQ(kept[0] + kept[1], 4000U);
}

/// Asks for its thread's slot when the slot has gone, as another thread-local object's end may.
struct late_asker {
  std::uint32_t* answer = nullptr;
  constexpr late_asker() = default;
  ~late_asker() {
    if (answer != nullptr) *answer = native::thread_slot();
  }
};

TEST(ThreadSlot, is_none_for_a_thread_that_is_past_its_end) {
  std::uint32_t late = 0;
  std::thread{[&] {
    // Constructed first, so destroyed last.
    native::thread_state<late_asker>().answer = &late;
    native::thread_slot();
  }}.join();
  EXPECT_EQ(late, no_slot);
}

}  // namespace
}  // namespace lockyard
