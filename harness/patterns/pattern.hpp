// SPDX-License-Identifier: Apache-2.0
#pragma once

// Common uses of locks, each with the data that it protects. docs/studies/patterns.md lists them.

#include "../job.hpp"
#include "../random.hpp"
#include "../subject.hpp"
#include "../work.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace lockyard::harness {

/// A lock of any type, by its operations: the same code for every lock, at the cost of an indirect
/// call for each operation.
class any_lock {
 public:
  any_lock(void* lock, const lock_operations& operations) noexcept
      : lock_{lock}, operations_{&operations} {}

  void lock() const { operations_->lock(lock_); }
  [[nodiscard]] bool try_lock() const { return operations_->try_lock(lock_); }
  void unlock() const { operations_->unlock(lock_); }

 private:
  void* lock_;
  const lock_operations* operations_;
};

/// Several locks, each with its data behind it: far apart, or as close as they fit.
class lock_array {
 public:
  enum class placement : std::uint8_t { apart, packed };

  lock_array(const subject& of, std::size_t count, placement how);
  lock_array(const lock_array&) = delete;
  lock_array& operator=(const lock_array&) = delete;
  ~lock_array();

  [[nodiscard]] any_lock operator[](std::size_t at) const noexcept {
    return {place_of(at), operations_};
  }
  /// The counter that lock number `at` protects.
  [[nodiscard]] std::uint64_t& counter(std::size_t at) const noexcept {
    return *reinterpret_cast<std::uint64_t*>(place_of(at) + to_counter_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t sum() const noexcept;
  [[nodiscard]] void* lock_at(std::size_t at) const noexcept { return place_of(at); }

 private:
  [[nodiscard]] std::byte* place_of(std::size_t at) const noexcept {
    return pages_.first() + at * stride_;
  }

  const lock_operations& operations_;
  std::size_t count_;
  std::size_t to_counter_;
  std::size_t stride_;
  pages pages_;
};

/// A thread's own state.
struct pattern_thread {
  unsigned number;
  worker work;
  xorshift draws;
  std::uint64_t skipped = 0;  ///< operations in which it did not get the lock
};

/// A use of locks. A step is one operation of one thread.
class pattern {
 public:
  pattern() = default;
  pattern(const pattern&) = delete;
  pattern& operator=(const pattern&) = delete;
  virtual ~pattern() = default;

  virtual void step(pattern_thread& by) = 0;
  /// Called when the time is over: a thread that waits for another must not wait any longer.
  virtual void end() {}
  /// Called when all threads have ended, with all their operations that were not skipped. Tells
  /// whether the protected data are as so many operations leave them.
  [[nodiscard]] virtual bool is_whole(std::uint64_t operations) const = 0;
  /// The lock that threads try while it is held, before the run.
  [[nodiscard]] virtual void* main_lock() const = 0;
};

struct listed_pattern {
  std::string_view name;
  std::string_view group;
  unsigned acquisitions;  ///< per operation
  std::unique_ptr<pattern> (*make)(const job& of, const subject& lock);
};

/// Patterns of locks: several of them, nested, tried, close to their data.
std::vector<listed_pattern> lock_patterns();
/// Patterns of data behind one lock.
std::vector<listed_pattern> structure_patterns();
/// Patterns of data behind one lock whose threads wait for each other.
std::vector<listed_pattern> waiting_patterns();
/// Returns a workload's data without a lock; null if it has no such counterpart.
std::unique_ptr<pattern> lock_free_counterpart(std::string_view workload, const job& of,
                                               const subject& lock);

}  // namespace lockyard::harness
