// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one thread holds and waits for, where other threads can read it.

#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

namespace lockyard::inline v0::detail {

/// The first member of every resilient lock: tables know locks by the address of this.
template <world W>
using lock_name = typename W::template var<const char*>;

/// What a table says of a lock beside its address, in the two low bits.
struct entry_tag {
  static constexpr std::uint64_t held = 0;     ///< or being acquired, for some instructions
  static constexpr std::uint64_t waiting = 1;  ///< the thread is, or was interrupted while it was
  static constexpr std::uint64_t releasing =
      2;  ///< to others it is free, to its handlers it is not
  static constexpr std::uint64_t all = 3;

  static const void* lock_of(std::uint64_t entry) noexcept {
    return reinterpret_cast<const void*>(entry & ~all);
  }
  static std::uint64_t entry_of(const void* lock) noexcept {
    return reinterpret_cast<std::uint64_t>(lock);
  }
};

/// A value of a table that is only told in reports. A checker, which has few words, has none.
template <world W, class T, bool IsKept>
class told {
 public:
  void write(T value) noexcept {
    // relaxed(owner): only its thread writes it; others see it by the wait that begins afterwards.
    if constexpr (IsKept) value_.store(value, std::memory_order_relaxed);
  }
  [[nodiscard]] T read() const noexcept {
    // relaxed(fence): wait_graph finds out whether it belongs to the wait.
    if constexpr (IsKept) return value_.load(std::memory_order_relaxed);
    return T{};
  }

 private:
  std::conditional_t<IsKept, typename W::template atomic<T>, T> value_{};
};

/// The locks of one thread: first come those that it holds, in the order in which it took them, and
/// last what it waits for. A signal handler's come behind those of the code that it interrupted.
///
/// Only its thread writes a table. Others read it, and believe what they read if the thread was
/// in one and the same wait before and after: a thread that waits changes nothing below. So the
/// fast paths need neither fences nor a version; `wait` is the version, and changes when a
/// wait begins or ends.
template <world W>
struct held_table {
  using word = typename W::template atomic<std::uint64_t>;

  /// What the kernel has; fewer in a world of few threads, which a checker has to search.
  static constexpr bool is_large = W::slot_count > 64;
  static constexpr std::size_t most = is_large ? 31 : 3;
  static constexpr std::size_t bytes = (most + 1) * sizeof(std::uint64_t);
  static_assert(std::has_single_bit(bytes));

  /// 0 while the thread does not wait; otherwise never the same for two waits at one entry.
  static constexpr std::uint64_t entries_in_wait = most + 1;
  static std::size_t entry_of_wait(std::uint64_t wait) noexcept { return wait % entries_in_wait; }

  /// What is told of a wait that begins.
  void describe(std::int64_t wait_since, const char* lock, std::source_location where) noexcept {
    since.write(wait_since);
    name.write(lock);
    at.write(where);
  }
  /// Empties the table of a thread that is no more. What it waited for last it did not hold.
  template <class Bury>
  void bury_all(bool but_last, Bury bury_one) noexcept {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      // relaxed(owner): the thread ends, or is no more.
      const std::uint64_t found = entries[i].load(std::memory_order_relaxed);
      // relaxed(owner): as above.
      const bool is_last =
          i + 1 == entries.size() || entries[i + 1].load(std::memory_order_relaxed) == 0;
      if (found != 0 && !(but_last && is_last)) bury_one(entry_tag::lock_of(found));
      // relaxed(owner): as above.
      entries[i].store(0, std::memory_order_relaxed);
    }
  }

  // The end of the entries is where the alignment ends: an address shows that a table is full.
  alignas(bytes) word wait{0};
  std::array<word, most> entries{};
  // Of the wait, for reports and for the choice of a victim.
  told<W, std::int64_t, is_large> since;
  told<W, const char*, is_large> name;
  told<W, std::source_location, is_large> at;
  // And of the thread.
  told<W, std::uint32_t, is_large> thread;
  word waits{0};
};

}  // namespace lockyard::inline v0::detail
