// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <peers/names.hpp>

#include <mutex>
#include <semaphore>
#include <shared_mutex>

namespace lockyard::inline v0::peers {

class std_mutex : public std::mutex {};
class std_shared_mutex : public std::shared_mutex {};
class std_recursive_mutex : public std::recursive_mutex {};

/// One unit, which the owner has while it holds the lock.
class std_counting_semaphore {
 public:
  void lock() { units_.acquire(); }
  bool try_lock() noexcept { return units_.try_acquire(); }
  void unlock() { units_.release(); }

 private:
  std::counting_semaphore<> units_{1};
};

}  // namespace lockyard::inline v0::peers
