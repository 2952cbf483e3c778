// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <string>

namespace {

/// What a plug-in, loaded so that it shares no names, answers.
void* ask(const char* plugin, const std::string& question) {
  void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  void* const function = dlsym(library, question.c_str());
  return reinterpret_cast<void* (*)()>(function)();
}

class ProcessState : public ::testing::TestWithParam<const char*> {};

// The second plug-in is built with hidden visibility, as many are.
TEST_P(ProcessState, is_one_object_for_plugins_that_know_nothing_of_each_other) {
  void* const first = ask(FIRST_PLUGIN, GetParam());
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, ask(SECOND_PLUGIN, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Each, ProcessState,
                         ::testing::Values("slot_registry", "asymmetric_fence",
                                           "slot_of_this_thread"));

}  // namespace
