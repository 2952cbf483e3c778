// SPDX-License-Identifier: Apache-2.0

// Parts of a program that know nothing of each other, each with the headers alone compiled into it:
// plug-ins in several orders, and where HAS_PARTS_AT_START is defined, this executable and a
// library that it is linked with. Each test is a process of its own.

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plugin.hpp"

#if defined(HAS_PARTS_AT_START)
extern "C" void describe_linked_part(part_interface* to);
#endif

namespace {

struct loaded_part {
  void* library = nullptr;
  part_interface its{};
};

loaded_part load(const char* path, int visibility) {
  loaded_part part;
  part.library = dlopen(path, RTLD_NOW | visibility);
  if (part.library == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  const auto describe =
      reinterpret_cast<void (*)(part_interface*)>(dlsym(part.library, "describe_part"));
  describe(&part.its);
  return part;
}

std::vector<const char*> plugins() {
  return {PLUGINS};
}

std::vector<part_interface> parts_at_start() {
  std::vector<part_interface> found;
#if defined(HAS_PARTS_AT_START)
  found.resize(2);
  describe_part(&found[0]);
  describe_linked_part(&found[1]);
#endif
  return found;
}

struct loading {
  const char* name;
  int visibility;
  bool is_reversed;
};

/// All parts, the plug-ins loaded in that way.
std::vector<part_interface> parts(const loading& how) {
  std::vector<part_interface> found = parts_at_start();
  std::vector<const char*> paths = plugins();
  if (how.is_reversed) std::reverse(paths.begin(), paths.end());
  for (const char* const path : paths) found.push_back(load(path, how.visibility).its);
  return found;
}

class ProcessState : public ::testing::TestWithParam<loading> {};
INSTANTIATE_TEST_SUITE_P(Parts, ProcessState,
                         ::testing::Values(loading{"local", RTLD_LOCAL, false},
                                           loading{"local_reversed", RTLD_LOCAL, true},
                                           loading{"global", RTLD_GLOBAL, false},
                                           loading{"global_reversed", RTLD_GLOBAL, true}),
                         [](const auto& each) { return std::string{each.param.name}; });

TEST_P(ProcessState, is_one_object_for_parts_that_know_nothing_of_each_other) {
  const std::vector<part_interface> all = parts(GetParam());
  ASSERT_GE(all.size(), 3U);
  for (const part_interface& each : all) EXPECT_EQ(each.states, all.front().states);
}

TEST_P(ProcessState, names_a_thread_the_same_in_all_parts) {
  const std::vector<part_interface> all = parts(GetParam());
  std::set<std::uintptr_t> names;
  // Each thread asks another part first.
  for (const part_interface& first : all) {
    std::thread{[&] {
      const std::uintptr_t own = first.key();
      for (const part_interface& each : all) EXPECT_EQ(each.key(), own);
      names.insert(own);
    }}.join();
  }
  EXPECT_EQ(names.size(), all.size());
}

TEST_P(ProcessState, wakes_sleepers_of_one_part_by_unlocks_of_another) {
  constexpr unsigned rounds = 200;
  const std::vector<part_interface> all = parts(GetParam());
  unsigned counter = 0;
  char mutex = 0;  // all zero bytes are the free state
  std::vector<std::thread> team;
  for (const part_interface& each : all) {
    for (int i = 0; i < 2; ++i) team.emplace_back(each.count, &mutex, &counter, rounds);
  }
  for (auto& thread : team) thread.join();
  EXPECT_EQ(counter, rounds * 2 * all.size());
}

#if defined(HAS_PARTS_AT_START)
/// This thread has had its slot since the linked library was constructed, by functions of this
/// executable, whose own objects were not constructed then.
TEST(EarlyUse, is_of_the_state_that_all_parts_use_later) {
  const std::vector<part_interface> all = parts_at_start();
  for (const part_interface& each : all) {
    const std::uint32_t mine = each.slot();
    for (const part_interface& others : all) {
      std::thread{[&] { EXPECT_NE(others.slot(), mine); }}.join();
    }
  }
}
#endif

/// The part that came first made the state, and is unloaded while threads sleep by way of others.
TEST(UnloadedPart, leaves_the_state_to_the_parts_that_stay) {
  const loaded_part first = load(CLOSABLE, RTLD_LOCAL);
  std::vector<part_interface> others = parts_at_start();
  for (const char* const path : plugins()) {
    if (std::string{path} != CLOSABLE) others.push_back(load(path, RTLD_LOCAL).its);
  }
  char mutex = 0;
  first.its.lock(&mutex);
  std::vector<std::thread> sleepers;
  for (const part_interface& each : others) {
    sleepers.emplace_back([&mutex, each] {
      each.lock(&mutex);
      each.unlock(&mutex);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{50});  // most of them sleep by then
  ASSERT_EQ(dlclose(first.library), 0);
  ASSERT_EQ(dlopen(CLOSABLE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it is not unloaded";
  const loaded_part again = load(CLOSABLE, RTLD_LOCAL);
  EXPECT_EQ(again.its.states, others.front().states);
  again.its.unlock(&mutex);
  for (auto& thread : sleepers) thread.join();
}

}  // namespace
