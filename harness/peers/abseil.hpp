// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <peers/names.hpp>

#include <absl/synchronization/mutex.h>

namespace lockyard::inline v0::peers {

/// Adds nothing: each function is one call into the library. A library that was built with
/// assertions, as Debian's is, would also look for deadlocks; release builds do not.
class absl_mutex {
 public:
  absl_mutex() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

  void lock() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  bool try_lock() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { return mutex_.TryLock(); }
  void unlock() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); }

  void lock_shared() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.ReaderLock(); }
  bool try_lock_shared() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { return mutex_.ReaderTryLock(); }
  void unlock_shared() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.ReaderUnlock(); }

 private:
  absl::Mutex mutex_;
};

}  // namespace lockyard::inline v0::peers
