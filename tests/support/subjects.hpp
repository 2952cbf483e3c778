// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks of the catalogue with one interface, so that their tests are compiled once.

#include <lockyard/catalog.hpp>
#include <lockyard/concepts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catalog_types.hpp"

namespace lockyard::testing {

class some_lock {
 public:
  some_lock() = default;
  some_lock(const some_lock&) = delete;
  some_lock& operator=(const some_lock&) = delete;
  virtual ~some_lock() = default;

  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  /// Only of a timed lock.
  virtual bool try_lock_for(std::chrono::nanoseconds duration) = 0;
  using steady_time = std::chrono::steady_clock::time_point;
  virtual bool try_lock_until(steady_time limit) = 0;
  using system_time = std::chrono::system_clock::time_point;
  virtual bool try_lock_until(system_time limit) = 0;
  virtual void unlock() = 0;
};

template <class Lock>
class lock_of final : public some_lock {
 public:
  void lock() override { lock_.lock(); }
  bool try_lock() override { return lock_.try_lock(); }
  bool try_lock_for([[maybe_unused]] std::chrono::nanoseconds duration) override {
    if constexpr (timed_lockable<Lock>) return lock_.try_lock_for(duration);
    std::abort();
  }
  bool try_lock_until([[maybe_unused]] steady_time limit) override {
    if constexpr (timed_lockable<Lock>) return lock_.try_lock_until(limit);
    std::abort();
  }
  bool try_lock_until([[maybe_unused]] system_time limit) override {
    if constexpr (timed_lockable<Lock>) return lock_.try_lock_until(limit);
    std::abort();
  }
  void unlock() override { lock_.unlock(); }

 private:
  Lock lock_;
};

struct subject {
  lock_traits traits;
  std::unique_ptr<some_lock> (*make)();
};

template <class Lock>
subject subject_of(const lock_traits& traits) {
  return {traits, [] { return std::unique_ptr<some_lock>{new lock_of<Lock>}; }};
}

/// Our parking locks in another world.
template <world W>
std::vector<subject> parking_subjects_in() {
  std::vector<subject> found;
  for_each_lock([&found]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (is_ours<Lock>) {
      if constexpr (traits_of<Lock>().family == lock_family::park) {
        found.push_back(subject_of<in_world_t<Lock, W>>(entry.traits));
      }
    }
  });
  return found;
}

/// Ours and the sound controls, as users name them.
std::vector<subject> sound_subjects();
/// The locks that the predicate accepts.
std::vector<subject> sound_subjects(bool (*accepts)(const lock_traits&));

/// Ours, and of these the timed ones.
std::vector<subject> our_subjects();
std::vector<subject> our_timed_subjects();

/// The lock that the running test's parameter names, as one type for what is made of any lock.
class any_lock {
 public:
  void lock() { lock_->lock(); }
  bool try_lock() { return lock_->try_lock(); }
  bool try_lock_for(std::chrono::nanoseconds duration) { return lock_->try_lock_for(duration); }
  template <class Limit>
  bool try_lock_until(Limit limit) {
    return lock_->try_lock_until(limit);
  }
  void unlock() { lock_->unlock(); }

 private:
  std::unique_ptr<some_lock> lock_ = ::testing::TestWithParam<subject>::GetParam().make();
};

void PrintTo(const subject& each, std::ostream* to);

/// Names a test after its catalogue entry.
std::string name_of(const ::testing::TestParamInfo<subject>& info);

}  // namespace lockyard::testing
