// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thread that runs next to the contenders, under its own schedule.

#include "schedule.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <thread>

namespace lockyard::harness {

/// A thread with its own schedule, which begins to work when the run begins. Must be constructed
/// before the team.
class companion {
 public:
  /// Returns when the thread is in place: on the given processor, or on any. Throws
  /// condition_error.
  companion(std::optional<int> cpu, const schedule& under, std::function<void()> work);
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;
  ~companion() { dismiss(); }

  void begin() noexcept;
  /// Must be called when the work has ended, or is never to begin.
  void dismiss() noexcept;
  /// Returns the processor time used so far. Must be called before dismiss().
  [[nodiscard]] double used_cpu_ns() noexcept;
  /// Changes its policy to other, so that it ends even if more urgent threads want the processor.
  /// If that is not permitted, it ends later.
  void hurry() noexcept;

 private:
  enum class told : std::uint32_t { nothing, to_work, to_leave };

  void tell(told what) noexcept;

  std::optional<std::string> failure_;
  std::latch in_place_{1};
  std::atomic<told> told_{told::nothing};
  std::jthread thread_;
};

}  // namespace lockyard::harness
