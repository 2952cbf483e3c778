// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

namespace lockyard::plain {

/// A thread's thread_local variables, and what has to be done with them when the thread ends.
struct thread_storage {
  void* block = nullptr;  ///< a copy of the module's thread_local variables
  std::vector<std::pair<void (*)(void*), void*>> destructors;

  void reset() {
    block = nullptr;
    destructors.clear();
  }
};

}  // namespace lockyard::plain
