// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/native.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>

namespace my {

/// A spinlock with a seeded fault: on x86-64 no test that runs it can find the fault.
template <lockyard::world W = lockyard::native>
class basic_spinlock {
 public:
  void lock() noexcept {
    W::await_exchange(locked_, true, lockyard::is_zero, std::memory_order_acquire,
                      lockyard::wait_policies::pausing{});
  }

  void unlock() noexcept {
    locked_.store(false, std::memory_order_relaxed);  // the fault: must be a release
  }

 private:
  typename W::template atomic<bool> locked_{false};
};

using spinlock = basic_spinlock<>;

}  // namespace my
