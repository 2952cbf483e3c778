// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory of a module's code: the client's object, and a heap for each thread. A thread's heap
// depends on that thread alone, so an object has the same place in every execution in which its
// thread did the same before.

#include <model/memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

namespace lockyard::plain {

/// The bytes of an object on the heap or on a stack to which nothing has been written: not the zero
/// that code may forget to write, and in no execution what an earlier one has left. For variables
/// on the stack the compiler writes it (-ftrivial-auto-var-init in visible.txt).
inline constexpr std::byte unwritten{0xfe};

class arena {
 public:
  static constexpr std::size_t bytes_each = std::size_t{1} << 26U;

  arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena();

  void reset();
  /// Returns nullptr if the heap is full.
  void* take(unsigned thread, std::size_t bytes, std::size_t alignment, std::source_location where,
             model::origin made);

  struct object {
    std::uintptr_t begin;
    std::size_t bytes;
    std::source_location where;  ///< its creation
    model::origin made;          ///< then
    unsigned number;             ///< in order of creation; the client is the first one, with 0
  };
  /// The object that holds an address, if there is one.
  [[nodiscard]] std::optional<object> find(std::uintptr_t address) const;
  /// The size of an object that take() returned.
  static std::size_t size_of(const void* address);
  /// The bytes of the objects of a thread, which lie from the beginning of its heap.
  [[nodiscard]] std::span<std::byte> used(unsigned thread) const {
    return {memory_ + thread * bytes_each, used_[thread]};
  }
  /// The place of an address, if it is in here.
  [[nodiscard]] std::optional<std::size_t> offset_of(std::uintptr_t address) const;
  /// The thread in whose heap an address is, if it is in here.
  [[nodiscard]] std::optional<unsigned> owner_of(std::uintptr_t address) const;

 private:
  static constexpr std::size_t heaps = model::max_threads;
  std::byte* memory_;
  std::array<std::size_t, heaps> used_{};
  std::vector<object> objects_;
};

}  // namespace lockyard::plain
