// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks that one thread holds and waits for, in a table that other threads can read.

#include <lockyard/detail/arch.hpp>
#include <lockyard/lock_report.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

namespace lockyard::inline v0::detail {

/// The first member of a resilient lock with a name: tables know such locks by the address of this,
/// and find the name there.
template <world W>
using lock_name = var<W, const char*>;

/// The key by which tables know a lock without a name: its address and a bit that no address has,
/// so that no reader looks for a name there.
struct nameless {
  static const void* key_of(const void* lock) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uint64_t>(lock) | bit);
  }
  static bool is_key(const void* key) noexcept {
    return (reinterpret_cast<std::uint64_t>(key) & bit) != 0;
  }

 private:
  static constexpr std::uint64_t bit = arch::spare_address_bit;
};

/// Returns the address of the lock that tables know by this key.
inline const void* address_of_key(const void* key) noexcept {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uint64_t>(key) &
                                       ~arch::spare_address_bit);
}
/// Returns the label with the lock's address instead of its key, for reports.
inline lock_label with_address(lock_label of) noexcept {
  return {address_of_key(of.address), of.name};
}

/// The state of a lock in a table, in the two low bits next to the lock's address.
struct entry_tag {
  static constexpr std::uint64_t held = 0;     ///< or being acquired, for some instructions
  static constexpr std::uint64_t waiting = 1;  ///< the thread waits, or a handler interrupted that
  static constexpr std::uint64_t releasing =
      2;  ///< free for other threads, and not free for the thread's handlers
  static constexpr std::uint64_t all = 3;

  static const void* lock_of(std::uint64_t entry) noexcept {
    return reinterpret_cast<const void*>(entry & ~all);
  }
  static std::uint64_t entry_of(const void* lock) noexcept {
    return reinterpret_cast<std::uint64_t>(lock);
  }
};

/// A value of a table that only reports use. It is absent under a checker, which has few words.
template <world W, class T, bool IsKept>
class told {
 public:
  void write(T value) noexcept {
    // relaxed(owner): only its thread writes it; the wait that begins afterwards makes it visible.
    if constexpr (IsKept) value_.store(value, std::memory_order_relaxed);
  }
  [[nodiscard]] T read() const noexcept {
    // relaxed(fence): wait_graph checks whether the value belongs to the wait.
    if constexpr (IsKept) return value_.load(std::memory_order_relaxed);
    return T{};
  }

 private:
  std::conditional_t<IsKept, atomic<W, T>, T> value_{};
};

/// The locks of one thread: first the locks that it holds, in the order in which it acquired them,
/// and last the lock that it waits for. The locks of a signal handler come after the locks of the
/// code that it interrupted.
///
/// Only its own thread writes a table. Other threads read it, and rely on a value if the thread was
/// in the same wait before and after they read it: a waiting thread does not change the entries
/// below the wait. So the fast paths need neither fences nor a version; `wait` is the version, and
/// changes when a wait begins or ends.
template <world W>
struct held_table {
  using word = atomic<W, std::uint64_t>;

  /// Whether the table is of full size. It is small in a world of few threads, where a checker has
  /// to search all states.
  static constexpr bool is_large = W::slot_count > 64;
  static constexpr std::size_t most = is_large ? 31 : 3;
  static constexpr std::size_t bytes = (most + 1) * sizeof(std::uint64_t);
  static_assert(std::has_single_bit(bytes));

  /// The unit of `wait`, which is 0 while the thread does not wait; otherwise it is the index of
  /// the wait's entry plus a multiple of this number that no other wait has.
  static constexpr std::uint64_t entries_in_wait = most + 1;
  static std::size_t entry_of_wait(std::uint64_t wait) noexcept { return wait % entries_in_wait; }

  /// Stores the description of a wait that begins, for reports.
  void describe(std::int64_t wait_since, const char* lock, std::source_location where) noexcept {
    since.write(wait_since);
    name.write(lock);
    at.write(where);
  }
  /// Empties the table of a thread that has ended or ends, and calls `bury_one` for each lock that
  /// it held. If `but_last`, the last entry is a lock that it waited for, and did not hold.
  template <class Bury>
  void bury_all(bool but_last, Bury bury_one) noexcept {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      // relaxed(owner): the thread ends, or has ended.
      const std::uint64_t found = entries[i].load(std::memory_order_relaxed);
      // relaxed(owner): as above.
      const bool is_last =
          i + 1 == entries.size() || entries[i + 1].load(std::memory_order_relaxed) == 0;
      if (found != 0 && !(but_last && is_last)) bury_one(entry_tag::lock_of(found));
      // relaxed(owner): as above.
      entries[i].store(0, std::memory_order_relaxed);
    }
  }

  // The entries end at a multiple of the alignment: an address shows whether a table is full.
  alignas(bytes) word wait{0};
  std::array<word, most> entries{};
  // The description of the wait, for reports and for the choice of a victim.
  told<W, std::int64_t, is_large> since;
  told<W, const char*, is_large> name;
  told<W, std::source_location, is_large> at;
  // The thread's number, and the count of its waits.
  told<W, std::uint32_t, is_large> thread;
  word waits{0};
};

}  // namespace lockyard::inline v0::detail
