// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cycles of waiting threads, found in the tables of held_locks.hpp.

#include <lockyard/detail/held_locks.hpp>
#include <lockyard/lock_report.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockyard::inline v0::detail {

/// A walk from the calling thread, which waits, to the thread that holds the wanted lock, to the
/// lock that this thread waits for, and so on.
///
/// A cycle that is found has existed. Each of its threads was in one wait from before the first
/// read of its table until after the last table was read (`look`, `look_again`); a waiting thread
/// acquires and releases nothing; and the entries below the entry of its wait are the locks that it
/// holds. So at the moment between the first pass and the second all waits and holds existed at the
/// same time. A wait whose lock has just been acquired, and that has not been recorded as ended,
/// does no harm: its lock is not below any other thread's wait. There is one exception: where a
/// signal handler waits in the middle of a lock() or unlock() that it interrupted, a cycle may be
/// found that does not exist, because that lock counts as held: the handler has to end before the
/// interrupted code can release the lock.
template <world W>
class wait_graph {
 public:
  using tables = held_locks<W>;
  using table = typename tables::table;
  using entry = typename tables::entry;
  static constexpr std::size_t longest = table::is_large ? 32 : 4;

  /// Looks for a cycle through the calling thread, and returns whether there is one; the cycle is
  /// kept until the next call. Precondition: the thread has begun to wait for the lock at `place`.
  bool find_cycle(const entry& place, const void* lock) noexcept {
    const table& mine = *tables::own_table();
    count_ = 0;
    add(mine);
    for (const void* wanted = lock; wanted != nullptr;) {
      if (holds(mine, index_of(mine, place), wanted)) return count_ > 1 && was_there_throughout();
      wanted = count_ < longest ? add_holder_of(wanted) : nullptr;
    }
    return false;
  }

  /// Whether this thread began to wait after all other threads of the cycle; among equal times,
  /// whether its table is the last one.
  [[nodiscard]] bool is_youngest() const noexcept {
    const auto youngest = std::max_element(
        links_.begin(), links_.begin() + count_, [](const link& one, const link& other) {
          return one.since != other.since ? one.since < other.since : one.of < other.of;
        });
    return youngest == links_.begin();
  }

  [[nodiscard]] std::size_t length() const noexcept { return count_; }
  [[nodiscard]] lock_wait wait_of(std::size_t i) const noexcept {
    lock_wait found = links_[i].told;
    found.wanted = with_address(found.wanted);
    return found;
  }

 private:
  /// A thread of the walk, and the wait in which it was found.
  struct link {
    const table* of = nullptr;
    std::uint64_t wait = 0;
    std::int64_t since = 0;
    lock_wait told;
  };

  static std::size_t index_of(const table& of, const entry& place) noexcept {
    return static_cast<std::size_t>(&place - of.entries.data());
  }

  /// Adds the waiting thread that holds the lock. Returns the lock that this thread waits for, or
  /// null if there is no such thread.
  const void* add_holder_of(const void* lock) noexcept {
    for (std::size_t slot = 0; slot < tables::count(); ++slot) {
      const table& each = tables::of(slot);
      if (is_in_walk(each)) continue;
      const void* const wanted = add(each);
      if (wanted == nullptr) continue;
      if (holds(each, table::entry_of_wait(links_[count_ - 1].wait), lock)) return wanted;
      --count_;
    }
    return nullptr;
  }

  [[nodiscard]] bool is_in_walk(const table& each) const noexcept {
    return std::any_of(links_.begin(), links_.begin() + count_,
                       [&each](const link& known) { return known.of == &each; });
  }

  /// Adds a thread if it waits. Returns the lock that it waits for, or null.
  const void* add(const table& each) noexcept {
    // order[look]: acquire; pairs [held_locks.hpp:begin, held_locks.hpp:resume]; this thread sees
    // the locks that the other one held when it began to wait.
    const std::uint64_t wait = each.wait.load(std::memory_order_acquire);
    if (wait == 0) return nullptr;
    // relaxed(fence): was_there_throughout() checks whether these values belong to the wait.
    const void* const wanted = entry_tag::lock_of(
        each.entries[table::entry_of_wait(wait)].load(std::memory_order_relaxed));
    links_[count_++] = {&each,
                        wait,
                        each.since.read(),
                        {each.thread.read(), {wanted, each.name.read()}, each.at.read()}};
    return wanted;
  }

  /// Whether the lock is among the first `count` entries. A lock that is being released counts too:
  /// below a wait, such an entry means that a handler has interrupted the unlock, maybe before the
  /// release.
  static bool holds(const table& each, std::size_t count, const void* lock) noexcept {
    return std::any_of(each.entries.begin(), each.entries.begin() + count,
                       [lock](const entry& known) {
                         // relaxed(fence): as in add().
                         const std::uint64_t found = known.load(std::memory_order_relaxed);
                         return entry_tag::lock_of(found) == lock;
                       });
  }

  [[nodiscard]] bool was_there_throughout() const noexcept {
    // order[look_again]: acquire; pairs [held_locks.hpp:hide]; a thread that has read a value from
    // after the end of a wait does not find that wait any longer.
    W::fence(std::memory_order_acquire);
    return std::all_of(links_.begin(), links_.begin() + count_, [](const link& each) {
      // relaxed(fence): ordered by the fence above.
      return each.of->wait.load(std::memory_order_relaxed) == each.wait;
    });
  }

  std::array<link, longest> links_{};
  std::size_t count_ = 0;
};

}  // namespace lockyard::inline v0::detail
