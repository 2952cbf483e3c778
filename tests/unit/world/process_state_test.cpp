// SPDX-License-Identifier: Apache-2.0
#include <lockyard/world/native.hpp>
#include <lockyard/world/process_state.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lockyard {
namespace {

using detail::state_key;
using detail::state_registry;

struct number {
  std::uint64_t value = 5;
};

template <class T>
state_registry::request request_of(const char* name) {
  return {{.key = state_key{name}.value()}, sizeof(T), alignof(T), [](void* at) noexcept {
            ::new (at) T{};
          }};
}

class StateRegistry : public ::testing::Test {
 protected:
  std::unique_ptr<state_registry> registry_ = std::make_unique<state_registry>();
};

TEST_F(StateRegistry, has_one_object_for_each_name) {
  auto* const first = static_cast<number*>(registry_->find_or_make(request_of<number>("first")));
  EXPECT_EQ(first->value, 5U);
  EXPECT_NE(registry_->find_or_make(request_of<number>("second")), first);
  EXPECT_EQ(registry_->find_or_make(request_of<number>("first")), first);
}

TEST_F(StateRegistry, keeps_layouts_of_one_name_apart) {
  struct two_numbers {
    std::uint64_t values[2]{};
  };
  struct alignas(32) aligned_number {
    std::uint64_t values[2]{};
  };
  const void* const first = registry_->find_or_make(request_of<two_numbers>("state"));
  EXPECT_NE(registry_->find_or_make(request_of<number>("state")), first);
  EXPECT_NE(registry_->find_or_make(request_of<aligned_number>("state")), first);
}

TEST_F(StateRegistry, gives_threads_that_come_at_the_same_time_one_object) {
  for (int round = 0; round < 50; ++round) {
    const std::string name = std::to_string(round);
    std::vector<void*> found(4);
    std::vector<std::thread> team;
    for (void*& mine : found) {
      team.emplace_back([&] { mine = registry_->find_or_make(request_of<number>(name.c_str())); });
    }
    for (auto& thread : team) thread.join();
    EXPECT_EQ(std::count(found.begin(), found.end(), found.front()), 4);
  }
}

TEST_F(StateRegistry, goes_on_where_its_own_room_ends) {
  struct page {
    std::uint64_t words[256]{};
  };
  std::vector<void*> found;
  for (int i = 0; i < 100; ++i) {
    found.push_back(registry_->find_or_make(request_of<page>(std::to_string(i).c_str())));
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
}

TEST(StateKey, tells_worlds_numbers_and_orders_apart) {
  struct other_world : native {};
  const auto of = [](auto... numbers) {
    state_key key{"key"};
    (key.add(std::uint64_t{numbers}), ...);
    return key.value();
  };
  EXPECT_NE(of(1U, 2U), of(2U, 1U));
  EXPECT_NE(of(1U), of(1U, 0U));
  EXPECT_NE(state_key{"key"}.add_world<native>().value(),
            state_key{"key"}.add_world<other_world>().value());
}

/// Wiped in the child of a fork.
struct wiped_number {
  static constexpr detail::state_traits process_traits{
      .key = state_key{"wiped_number"}.value(), .starts_as_zeros = true, .is_wiped_on_fork = true};
  std::uint64_t value = 0;
};

TEST(ProcessStateAtFork, is_wiped_where_its_type_says_so) {
  native::process_state<wiped_number>().value = 1;
  native::process_state<number>().value = 2;
  const pid_t child = fork();
  if (child == 0) {
    const bool is_wiped = native::process_state<wiped_number>().value == 0;
    const bool is_kept = native::process_state<number>().value == 2;
    _exit(is_wiped && is_kept ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
  EXPECT_EQ(native::process_state<wiped_number>().value, 1U);
}

}  // namespace
}  // namespace lockyard
