// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace lockyard::simulation {

/// Memory at the same addresses in every process: locks hash and compare addresses, and what shares
/// a cache line depends on them, so a run repeats only if its objects lie where they lay.
class arena {
 public:
  static constexpr std::size_t stack_bytes = std::size_t{64} * 1024;
  static constexpr int stacks = 512;

  /// Throws std::runtime_error if the addresses are not free.
  arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena();

  /// Returns the top of a stack, which has a protected page below it.
  [[nodiscard]] void* stack_top(int which) const noexcept;

  /// Returns memory of all zero bytes. It is freed with the arena.
  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment);

  /// The caller destroys the object, or need not.
  template <class T, class... Arguments>
  [[nodiscard]] T& make(Arguments&&... arguments) {
    return *::new (allocate(sizeof(T), alignof(T))) T{std::forward<Arguments>(arguments)...};
  }

 private:
  std::byte* base_;
  std::size_t used_;
};

}  // namespace lockyard::simulation
