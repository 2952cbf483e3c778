// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads that sleep on other locks than the one under test. Locks that park in one table for the
// whole process may have to look at the table's bucket because of them.

#include "subject.hpp"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace lockyard::harness {

/// The most that a job may ask for.
inline constexpr unsigned max_sleepers = 64;

/// One lock for each sleeper, held by the starter until destruction.
class sleepers {
 public:
  /// If the lock knows buckets, on locks that share one with `beside`, else on any. Comes back when
  /// all sleep, or have been given a second to, or 50 ms if nobody knows that they can. Throws
  /// condition_error if a thread cannot be had.
  sleepers(const subject& of, const void* beside, unsigned count);
  sleepers(const sleepers&) = delete;
  sleepers& operator=(const sleepers&) = delete;
  /// Lets all of them end.
  ~sleepers();

  /// Whether every one did sleep, and where it was to.
  [[nodiscard]] bool are_asleep() const noexcept { return asleep_; }
  /// Whether their locks share the bucket; false if the lock knows none.
  [[nodiscard]] bool share_bucket() const noexcept {
    return of_.operations.shares_bucket != nullptr;
  }

 private:
  struct sleeper {
    void* lock = nullptr;
    std::atomic<int> thread_id{0};
    std::jthread thread;
  };

  /// A lock that suits, constructed; null if no place is left.
  void* next_lock(const void* beside);
  void start(sleeper& each);
  void end();
  [[nodiscard]] bool all_sleep() const;
  void await_sleep();

  subject of_;
  pages pages_;
  std::byte* next_place_;
  std::vector<sleeper> all_;  // never grows once a thread has started
  bool asleep_ = false;
};

}  // namespace lockyard::harness
