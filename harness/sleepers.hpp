// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads that sleep on locks other than the lock under test. Because of them, locks that park in
// one table for the whole process may have to look at the table's bucket.

#include "subject.hpp"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace lockyard::harness {

/// The largest number that a job may ask for.
inline constexpr unsigned max_sleepers = 64;

/// One lock for each sleeper, held by the starter until destruction.
class sleepers {
 public:
  /// If the lock knows buckets, uses locks that share a bucket with `beside`, otherwise any.
  /// Returns when all threads sleep, or after a second, or after 50 ms if it is unknown whether
  /// they can. Throws condition_error if a thread cannot be started.
  sleepers(const subject& of, const void* beside, unsigned count);
  sleepers(const sleepers&) = delete;
  sleepers& operator=(const sleepers&) = delete;
  /// Lets all threads end.
  ~sleepers();

  /// Tells whether every thread slept, and in the right place.
  [[nodiscard]] bool are_asleep() const noexcept { return asleep_; }
  /// Tells whether their locks share the bucket; false if the lock knows no buckets.
  [[nodiscard]] bool share_bucket() const noexcept {
    return of_.operations.share_bucket != nullptr;
  }

 private:
  struct sleeper {
    void* lock = nullptr;
    std::atomic<int> thread_id{0};
    std::jthread thread;
  };

  /// Returns a suitable lock, constructed; null if no place is left.
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
