// SPDX-License-Identifier: Apache-2.0
#pragma once

// folly's locks as classes with lock() and unlock(). Their headers are compiled unchanged. What
// folly's compiled library would add is defined here: the system calls of a futex, the number of
// slots for readers, and what only other locks use. The counter of cycles is the checker's clock.

#include <x86intrin.h>
#include <chrono>
#include <cstdlib>

namespace adapters {

inline unsigned long long cycles() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(now.count());
}

}  // namespace adapters

#define __builtin_ia32_rdtsc adapters::cycles
#include <folly/SharedMutex.h>
#include <folly/synchronization/DistributedMutex.h>
#include <folly/synchronization/MicroSpinLock.h>
#include <folly/synchronization/PicoSpinLock.h>
#undef __builtin_ia32_rdtsc

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>

namespace folly {

namespace detail {

int futexWakeImpl(const Futex<std::atomic>* futex, int count, std::uint32_t mask) {
  return static_cast<int>(syscall(SYS_futex, futex, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count,
                                  nullptr, nullptr, mask));
}

/// Without a limit: lock() has none, and a wait without one asks for the last time that there is.
FutexResult futexWaitImpl(const Futex<std::atomic>* futex, std::uint32_t expected,
                          const std::chrono::system_clock::time_point* until,
                          const std::chrono::steady_clock::time_point* limit, std::uint32_t mask) {
  constexpr auto never = std::chrono::steady_clock::time_point::max();
  assert(until == nullptr && (limit == nullptr || *limit == never));
  const long failed = syscall(SYS_futex, futex, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                              nullptr, nullptr, mask);
  if (failed == 0) return FutexResult::AWOKEN;
  return errno == EAGAIN ? FutexResult::VALUE_CHANGED : FutexResult::INTERRUPTED;
}

template <>
void safe_assert_terminate<false>(const safe_assert_arg* /*said*/, ...) noexcept {
  std::abort();
}

}  // namespace detail

namespace shared_mutex_detail {

std::uint32_t getMaxDeferredReadersSlow(std::atomic<std::uint32_t>& known) {
  known = 2;
  return 2;
}

}  // namespace shared_mutex_detail

namespace parking_lot_detail {

std::atomic<std::uint64_t> idallocator{0};

Bucket& Bucket::bucketFor(std::uint64_t /*key*/) {
  static Bucket all{};
  return all;
}

}  // namespace parking_lot_detail

ParkingLot<std::uint32_t> detail::atomic_notification::parkingLot;
template class detail::distributed_mutex::DistributedMutex<>;

}  // namespace folly

namespace adapters {

class micro_spin_lock {
 public:
  micro_spin_lock() { lock_.init(); }
  void lock() { lock_.lock(); }
  bool try_lock() { return lock_.try_lock(); }
  void unlock() { lock_.unlock(); }

 private:
  folly::MicroSpinLock lock_;
};

/// The lock is one bit of a number.
class pico_spin_lock {
 public:
  pico_spin_lock() { lock_.init(); }
  void lock() { lock_.lock(); }
  bool try_lock() { return lock_.try_lock(); }
  void unlock() { lock_.unlock(); }

 private:
  folly::PicoSpinLock<std::uint32_t> lock_;
};

/// The writers' side. The tag has its functions compiled here.
class shared_mutex {
 public:
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct tag {};
  folly::SharedMutexImpl<false, tag> mutex_;
};

class distributed_mutex {
 public:
  void lock() { mine() = mutex_.lock(); }
  void unlock() { mutex_.unlock(mine()); }

 private:
  using state = folly::DistributedMutex::DistributedMutexStateProxy;
  static state& mine() {
    thread_local state proxy;
    return proxy;
  }
  folly::DistributedMutex mutex_;
};

}  // namespace adapters
