// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a thread of this process sleeps.

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace lockyard::testing {

/// Returns when the kernel says that the thread sleeps.
inline void await_sleep_of(std::uint32_t tid) {
  for (;;) {
    std::ifstream from{"/proc/self/task/" + std::to_string(tid) + "/stat"};
    std::string line;
    std::getline(from, line);
    if (line.find(") S ") != std::string::npos) return;
    std::this_thread::yield();
  }
}

}  // namespace lockyard::testing
