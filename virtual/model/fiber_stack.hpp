// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

namespace lockyard::model {

/// Memory for one fiber; a fiber that runs over its end touches a protected page.
class fiber_stack {
 public:
  static constexpr std::size_t bytes = 256 * 1024;

  fiber_stack()
      : memory_{mmap(nullptr, guard() + bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)} {
    if (memory_ == MAP_FAILED) throw std::bad_alloc{};
    mprotect(memory_, guard(), PROT_NONE);  // without the guard it is still a stack
  }
  fiber_stack(const fiber_stack&) = delete;
  fiber_stack& operator=(const fiber_stack&) = delete;
  ~fiber_stack() { munmap(memory_, guard() + bytes); }

  /// Whether an address is in the protected page.
  [[nodiscard]] bool is_in_guard(const void* address) const noexcept {
    const auto* const at = static_cast<const std::byte*>(address);
    const auto* const begin = static_cast<const std::byte*>(memory_);
    return begin <= at && at < begin + guard();
  }
  /// Stacks grow downwards.
  [[nodiscard]] void* top() const noexcept {
    return static_cast<std::byte*>(memory_) + guard() + bytes;
  }

 private:
  static std::size_t guard() noexcept {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return page;
  }

  void* memory_;
};

}  // namespace lockyard::model
