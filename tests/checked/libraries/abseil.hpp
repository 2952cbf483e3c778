// SPDX-License-Identifier: Apache-2.0
#pragma once

// Abseil's SpinLock as a class with lock() and unlock(). Its sources are compiled unchanged, and
// what they need of the machine is defined here.

#include "absl/base/internal/cycleclock.cc"
#include "absl/base/internal/spinlock.cc"
#include "absl/base/internal/spinlock_wait.cc"

#include <cstdlib>

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace base_internal {
int NumCPUs() {
  return 1;
}
}  // namespace base_internal
namespace raw_log_internal {
void RawLog(LogSeverity /*severity*/, const char* /*file*/, int /*line*/, const char* /*form*/,
            ...) {
  std::abort();
}
}  // namespace raw_log_internal
ABSL_NAMESPACE_END
}  // namespace absl

namespace adapters {

class spin_lock {
 public:
  void lock() { lock_.Lock(); }
  bool try_lock() { return lock_.TryLock(); }
  void unlock() { lock_.Unlock(); }

 private:
  absl::base_internal::SpinLock lock_;
};

}  // namespace adapters
