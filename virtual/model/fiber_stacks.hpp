// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "view.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

namespace lockyard::model {

/// Memory for the threads' fibers, one after the other; a fiber that runs over its end touches a
/// protected page.
class fiber_stacks {
 public:
  static constexpr std::size_t bytes = 256 * 1024;  ///< each has so many

  fiber_stacks()
      : memory_{mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)} {
    if (memory_ == MAP_FAILED) throw std::bad_alloc{};
    for (std::size_t i = 0; i < max_threads; ++i) {
      // Without the guard it is still a stack.
      mprotect(static_cast<std::byte*>(memory_) + i * bytes_each, guard, PROT_NONE);
    }
  }
  fiber_stacks(const fiber_stacks&) = delete;
  fiber_stacks& operator=(const fiber_stacks&) = delete;
  ~fiber_stacks() { munmap(memory_, all_bytes); }

  /// Stacks grow downwards.
  [[nodiscard]] std::byte* top(std::size_t which) const noexcept {
    return static_cast<std::byte*>(memory_) + (which + 1) * bytes_each;
  }

  struct spot {
    std::size_t stack;
    std::size_t from_top;
  };
  /// Returns the place of an address on a stack, if it is on one.
  [[nodiscard]] std::optional<spot> find(std::uintptr_t address) const noexcept {
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(memory_);
    if (offset >= all_bytes || offset % bytes_each < guard) return std::nullopt;
    return spot{.stack = offset / bytes_each, .from_top = bytes_each - offset % bytes_each};
  }
  [[nodiscard]] bool is_in_guard(std::uintptr_t address) const noexcept {
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(memory_);
    return offset < all_bytes && offset % bytes_each < guard;
  }

 private:
  static constexpr std::size_t guard = 64 * 1024;  ///< a page on every system, or several
  static constexpr std::size_t bytes_each = guard + bytes;
  static constexpr std::size_t all_bytes = max_threads * bytes_each;

  void* memory_;
};

}  // namespace lockyard::model
