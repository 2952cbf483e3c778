// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/process_state.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// A wait for a lock that has ended.
struct contention {
  const void* lock;                 ///< its address
  std::chrono::nanoseconds waited;  ///< since the first attempt failed
  const void* caller;               ///< an address in the code that called lock(), for addr2line
  bool acquired;                    ///< false: a time-out ended the wait
};

/// A function that a process calls for waits for locks. The waiting thread calls it after the wait,
/// and holds the lock if it acquired. Precondition: returns soon, throws nothing, and acquires no
/// lock of this library.
using contention_hook = void (*)(const contention&);

namespace detail {

struct [[gnu::visibility("default")]] contention_hook_state {
  static constexpr state_traits process_traits{.key = state_key{"contention_hook"}.value(),
                                               .starts_as_zeros = true};

  std::atomic<contention_hook> is{nullptr};
};

/// Spans the wait of a contended acquisition. Inlined into a function that the lock does not
/// inline, so that this function's return address is in the code that called lock().
class contended_wait {
 public:
  [[gnu::always_inline]] explicit contended_wait(const void* lock) noexcept : lock_{lock} {
    // relaxed(fence): the fence follows if there is a hook.
    hook_ = state_of_process<contention_hook_state>().is.load(std::memory_order_relaxed);
    if (hook_ != nullptr) [[unlikely]] {
      // order[hook]: acquire; pairs [contention.hpp:set]; all that the hook uses was made before
      // the hook was set.
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
