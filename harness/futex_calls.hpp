// SPDX-License-Identifier: Apache-2.0
#pragma once

// How often a thread calls the kernel's futex, whoever's lock it is: counted by the kernel's own
// tracepoint, where this process may use it. While one counts, every system call of the whole
// machine takes longer, and ending it takes some 40 ms: so nothing is timed meanwhile.

#include <cstdint>
#include <optional>
#include <string>

namespace lockyard::harness {

class futex_calls {
 public:
  /// Counts the calling thread's, until destruction. Threads begin with a count of their own.
  futex_calls();
  futex_calls(const futex_calls&) = delete;
  futex_calls& operator=(const futex_calls&) = delete;
  ~futex_calls();

  /// Nothing if they cannot be counted.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  /// Then, with the remedy; else empty.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

 private:
  int event_ = -1;
  std::string why_not_;
};

}  // namespace lockyard::harness
