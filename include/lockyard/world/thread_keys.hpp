// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names of threads that are never reused, for the native world: a thread draws its number at its
// first use and keeps it until its very end. The exception is a part of the program that asks for
// the key for the first time in a destructor of pthread_key_create: by then the C library has
// cleared the number, so the part draws another one.

#include <lockyard/detail/os.hpp>
#include <lockyard/world/process_state.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The numbers that the threads of a process have drawn. 64 bits do not wrap around.
///
/// Each part of a program has its own thread-local variables, so a thread's number is in
/// thread-specific data of POSIX, which all parts share; each part keeps a copy.
class [[gnu::visibility("default")]] thread_keys {
 public:
  static constexpr state_traits process_traits{.key = state_key{"thread_keys"}.value(),
                                               .starts_as_zeros = true};
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

  std::uintptr_t of_this_thread() noexcept {
    const pthread_key_t common = place();
    void* const known = pthread_getspecific(common);
    if (known != nullptr) return reinterpret_cast<std::uintptr_t>(known);
    // relaxed(atomicity): a number that no other thread has.
    const std::uintptr_t drawn = count_.fetch_add(1, std::memory_order_relaxed) + 1;
    const int failure = pthread_setspecific(common, reinterpret_cast<void*>(drawn));
    if (failure != 0) os::fatal("pthread_setspecific", failure);
    return drawn;
  }

 private:
  pthread_key_t place() noexcept {
    // relaxed(atomicity): the place's number carries no other data.
    std::uint64_t known = place_and_one_.load(std::memory_order_relaxed);
    if (known == 0) {
      pthread_key_t made{};
      const int failure = pthread_key_create(&made, nullptr);
      if (failure != 0) os::fatal("pthread_key_create", failure);
      const std::uint64_t mine = std::uint64_t{made} + 1;
      // relaxed(atomicity): as above.
      if (place_and_one_.compare_exchange_strong(known, mine, std::memory_order_relaxed,
                                                 std::memory_order_relaxed)) {
        return made;
      }
      pthread_key_delete(made);
    }
    return static_cast<pthread_key_t>(known - 1);
  }

  std::atomic<std::uintptr_t> count_{0};
  std::atomic<std::uint64_t> place_and_one_{0};
};

/// A part's copy of a thread's number; 0 until the first use. Trivially destructible, so that other
/// objects' destructors may use it; a forked child's thread keeps the number of the forking thread.
struct [[gnu::visibility("default")]] thread_key_memory {
  std::uintptr_t key = 0;
};
[[gnu::visibility("hidden")]] inline constinit thread_local thread_key_memory key_of_this_thread{};

[[gnu::noinline, gnu::cold, gnu::visibility("hidden")]] inline std::uintptr_t
learn_thread_key() noexcept {
  return key_of_this_thread.key = state_of_process<thread_keys>().of_this_thread();
}

}  // namespace lockyard::inline v0::detail
