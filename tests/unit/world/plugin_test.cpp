// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <dlfcn.h>

namespace {

void* registry_of(const char* plugin) {
  void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  void* const function = dlsym(library, "slot_registry_of_this_plugin");
  return reinterpret_cast<void* (*)()>(function)();
}

TEST(ProcessState, is_one_object_for_plugins_that_know_nothing_of_each_other) {
#if defined(__clang__)
  GTEST_SKIP() << "needs the unique symbols that only GCC emits";
#endif
  void* const first = registry_of(FIRST_PLUGIN);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, registry_of(SECOND_PLUGIN));
}

}  // namespace
