// SPDX-License-Identifier: Apache-2.0

// Parts of a program that know nothing of each other, each with the headers compiled into it: the
// libraries named in PARTS, and this executable where it is one of them.

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <thread>
#include <vector>

#if defined(LOCKYARD_SHARED_STATE)
extern "C" void* slot_registry();
extern "C" void* asymmetric_fence();
extern "C" void* bucket();
extern "C" void count(void* mutex, unsigned* counter, unsigned rounds);
#endif

namespace {

using where = void* (*)();
using use = void (*)(void* mutex, unsigned* counter, unsigned rounds);

struct part {
  std::vector<where> states;
  use count;
};

/// A library, loaded so that it shares no names.
void* load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::vector<part> parts() {
  std::vector<part> found;
#if defined(LOCKYARD_SHARED_STATE)
  found.push_back({{slot_registry, asymmetric_fence, bucket}, count});
#endif
  for (const char* const path : {PARTS}) {
    if (void* const library = load(path); library != nullptr) {
      found.push_back({{find<where>(library, "slot_registry"),
                        find<where>(library, "asymmetric_fence"), find<where>(library, "bucket")},
                       find<use>(library, "count")});
    }
  }
  return found;
}

TEST(ProcessState, is_one_object_for_parts_that_know_nothing_of_each_other) {
  const std::vector<part> all = parts();
  ASSERT_GE(all.size(), 2U);
  for (const part& each : all) {
    for (std::size_t i = 0; i < each.states.size(); ++i) {
      EXPECT_EQ(each.states[i](), all.front().states[i]());
    }
  }
}

/// Which byte of memory the mutex is decides which bucket its waiters sleep in.
TEST(ProcessState, wakes_sleepers_of_one_part_by_unlocks_of_another) {
  constexpr unsigned rounds = 300;
  const std::vector<part> all = parts();
  unsigned counter = 0;
  char mutex = 0;  // all zero bytes are the free state
  std::vector<std::thread> team;
  for (const part& each : all) {
    for (int i = 0; i < 2; ++i) team.emplace_back(each.count, &mutex, &counter, rounds);
  }
  for (auto& thread : team) thread.join();
  EXPECT_EQ(counter, rounds * 2 * all.size());
}

}  // namespace
