// SPDX-License-Identifier: Apache-2.0
#pragma once

// The number of a thread's futex calls, for any lock: the kernel's own tracepoint counts them, if
// this process may use it. While a counter exists, every system call of the whole machine takes
// longer, and closing it takes about 40 ms, so nothing is timed meanwhile.

#include "tracing/kernel_ring.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace lockyard::harness {

class futex_calls {
 public:
  /// Counts the calls of the calling thread, until destruction. Each thread has its own count.
  futex_calls();

  /// Returns the count, or nullopt if calls cannot be counted.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  /// Returns why calls cannot be counted, with the remedy; otherwise an empty string.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

 private:
  descriptor event_;
  std::string why_not_;
};

}  // namespace lockyard::harness
