// SPDX-License-Identifier: Apache-2.0
#pragma once

// absl::Mutex as a class with lock() and unlock(). Its sources are compiled unchanged. What they
// need of the machine is defined here: memory, which Abseil takes by mmap, the priority of a
// thread, and the time. Its detection of deadlocks is off, as in a release.

#include <pthread.h>

namespace adapters {

inline int priority_of(pthread_t /*thread*/, int* policy, sched_param* to) {
  *policy = 0;
  *to = {};
  return 0;
}

}  // namespace adapters

#define pthread_getschedparam adapters::priority_of
#include "absl/base/internal/cycleclock.cc"
#include "absl/base/internal/spinlock.cc"
#include "absl/base/internal/spinlock_wait.cc"
#include "absl/base/internal/thread_identity.cc"
#include "absl/synchronization/internal/create_thread_identity.cc"
#include "absl/synchronization/internal/futex_waiter.cc"
#include "absl/synchronization/internal/graphcycles.cc"
#include "absl/synchronization/internal/kernel_timeout.cc"
#include "absl/synchronization/internal/per_thread_sem.cc"
#include "absl/synchronization/internal/waiter_base.cc"
#include "absl/synchronization/mutex.cc"
#include "absl/time/duration.cc"

#undef pthread_getschedparam

#include <chrono>
#include <cstdlib>

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace base_internal {
int NumCPUs() {
  return 1;
}
struct LowLevelAlloc::Arena {};
LowLevelAlloc::Arena* LowLevelAlloc::DefaultArena() {
  static Arena all;
  return &all;
}
LowLevelAlloc::Arena* LowLevelAlloc::NewArena(std::uint32_t /*flags*/) {
  return DefaultArena();
}
void* LowLevelAlloc::Alloc(std::size_t bytes) {
  return std::malloc(bytes);
}
void* LowLevelAlloc::AllocWithArena(std::size_t bytes, Arena* /*from*/) {
  return std::malloc(bytes);
}
void LowLevelAlloc::Free(void* memory) {
  std::free(memory);
}
}  // namespace base_internal
namespace raw_log_internal {
void RawLog(LogSeverity /*severity*/, const char* /*file*/, int /*line*/, const char* /*form*/,
            ...) {
  std::abort();
}
}  // namespace raw_log_internal
std::int64_t GetCurrentTimeNanos() {
  return std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}.count();
}
Time Now() {
  return time_internal::FromUnixDuration(Nanoseconds(GetCurrentTimeNanos()));
}
std::int64_t ToUnixNanos(Time when) {
  return ToInt64Nanoseconds(time_internal::ToUnixDuration(when));
}
int GetStackTrace(void** /*to*/, int /*most*/, int /*skipped*/) {
  return 0;
}
bool Symbolize(const void* /*place*/, char* /*to*/, int /*bytes*/) {
  return false;
}
ABSL_NAMESPACE_END
}  // namespace absl

extern "C" void ABSL_INTERNAL_C_SYMBOL(AbslInternalSleepFor)(absl::Duration /*length*/) {
  sched_yield();
}

namespace adapters {

class mutex {
 public:
  mutex() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }
  void lock() { lock_.Lock(); }
  bool try_lock() { return lock_.TryLock(); }
  void unlock() { lock_.Unlock(); }

 private:
  absl::Mutex lock_;
};

}  // namespace adapters
