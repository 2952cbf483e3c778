// SPDX-License-Identifier: Apache-2.0
#pragma once

// A lock with plain std::atomic, compiled unchanged: CMakeLists.txt adds a test that checks it.

#include <atomic>

namespace my {

class plain_lock {
 public:
  void lock() noexcept {
    while (is_locked_.exchange(true, std::memory_order_acquire)) {
      while (is_locked_.load(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() noexcept { is_locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_locked_{false};
};

}  // namespace my
