// SPDX-License-Identifier: Apache-2.0
#pragma once

// A thread beside those that want the lock, under a schedule of its own.

#include "schedule.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <thread>

namespace lockyard::harness {

/// A thread of a rank of its own, which goes to work when the run begins. To be made before the
/// team.
class companion {
 public:
  /// Comes back when the thread is in place: on a processor, or on any. Throws condition_error.
  companion(std::optional<int> cpu, const schedule& under, std::function<void()> work);
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;
  ~companion() { dismiss(); }

  void begin() noexcept;
  /// When its work has come to an end, or is never to begin.
  void dismiss() noexcept;
  /// What the thread has used of its processor until now. Before it is dismissed.
  [[nodiscard]] double used_cpu_ns() noexcept;
  /// Lets it run as other, so that it comes to its end where more urgent ones want the processor.
  /// Where that is not permitted, that takes longer.
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
