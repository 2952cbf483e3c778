// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/process_state.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// A wait for a lock that has ended.
struct contention {
  const void* lock;                 ///< its address
  std::chrono::nanoseconds waited;  ///< from the failure of the first attempt
  const void* caller;               ///< an address in the code that called lock(), for addr2line
  bool acquired;                    ///< false: a time-out ended the wait
};

/// What a process does with waits for locks. Called by the thread that has waited; if it acquired,
/// it holds the lock. Precondition: returns soon, throws nothing, and takes no lock of this
/// library.
using contention_hook = void (*)(const contention&);

namespace detail {

struct [[gnu::visibility("default")]] contention_hook_state {
  std::atomic<contention_hook> is{nullptr};
};

/// Spans the wait of a contended acquisition. Inlined into a function that the lock keeps out of
/// line, so that this function's return address lies in the code that called lock().
class contended_wait {
 public:
  [[gnu::always_inline]] explicit contended_wait(const void* lock) noexcept : lock_{lock} {
    // relaxed(fence): the fence follows where there is a hook.
    hook_ = state_of_process<contention_hook_state>().is.load(std::memory_order_relaxed);
    if (hook_ != nullptr) [[unlikely]] {
      // order[hook]: acquire; pairs [contention.hpp:set]; what the hook uses was made before it was
      // set.
      std::atomic_thread_fence(std::memory_order_acquire);
      caller_ = __builtin_extract_return_addr(__builtin_return_address(0));
      since_ = std::chrono::steady_clock::now();
    }
  }
  contended_wait(const contended_wait&) = delete;
  contended_wait& operator=(const contended_wait&) = delete;
  [[gnu::always_inline]] ~contended_wait() {
    if (hook_ != nullptr) [[unlikely]]
      report();
  }
  [[gnu::always_inline]] bool result(bool acquired) noexcept { return acquired_ = acquired; }

 private:
  [[gnu::noinline, gnu::cold]] void report() const noexcept {
    hook_({.lock = lock_,
           .waited = std::chrono::steady_clock::now() - since_,
           .caller = caller_,
           .acquired = acquired_});
  }

  const void* lock_;
  contention_hook hook_;
  const void* caller_ = nullptr;
  std::chrono::steady_clock::time_point since_;
  bool acquired_ = true;
};

}  // namespace detail
}  // namespace lockyard::inline v0
