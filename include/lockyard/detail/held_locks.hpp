// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tables of all threads, and what a thread does with its own: the base of the detection of
// deadlocks.

#include <lockyard/detail/dead_owners.hpp>
#include <lockyard/detail/held_table.hpp>
#include <lockyard/lock_report.hpp>
#include <lockyard/world/process_state.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>

namespace lockyard::inline v0::detail {

/// The tables of all threads, and the locks that dead threads held. Tables are found by thread
/// slot and never go away, so that they may be read at any time.
template <world W>
class [[gnu::visibility("default")]] held_locks {
 public:
  using table = held_table<W>;
  using entry = typename table::word;
  static constexpr state_traits process_traits{
      .key = state_key{"held_locks"}.add_world<W>().value(), .starts_as_zeros = true};

  // The fast paths of the calling thread.

  /// Enters a lock that the thread is about to acquire. Null where there is no room; the lock is
  /// counted then.
  static entry* enter(const void* lock) noexcept {
    entry* const place = own().top;
    if (place != nullptr && !is_taken(*place)) [[likely]]
      return mark(place, lock, entry_tag::held);
    return enter_above(place, lock);
  }

  /// The entry of a lock that is about to be released, if it is the last one that the thread has
  /// acquired; null if not.
  static entry* begin_release(const void* lock) noexcept {
    entry* const top = own().top;
    if (top == nullptr) [[unlikely]]
      return nullptr;
    if (is_of(*top, lock)) [[likely]]
      return mark(top, lock, entry_tag::releasing);
    if (is_taken(*top) || !is_of(top[-1], lock)) return nullptr;
    return mark(top - 1, lock, entry_tag::releasing);
  }

  /// It is released. A handler that comes in between uses what is above, and leaves it empty.
  static void end_release(entry* place) noexcept {
    keep_order();
    // relaxed(owner): others believe entries of a thread that waits; this one does not.
    place->store(0, std::memory_order_relaxed);
    keep_order();
    // A store that the next locked instruction has to wait for: most pairs need none.
    if (own().top != place) own().top = place;
  }

  // The slow ones.

  /// As begin_release(), of any lock that has an entry.
  static entry* begin_release_below(const void* lock) noexcept {
    const std::span<entry> mine = own_below(nullptr);
    for (std::size_t i = mine.size(); i-- > 0;) {
      if (is_of(mine[i], lock)) return mark(&mine[i], lock, entry_tag::releasing);
    }
    return nullptr;
  }

  /// The lock is released, or was not acquired. Entries above move down, so that no hole remains:
  /// each is there twice for a moment, and never missing.
  static void remove(entry* place) noexcept {
    keep_order();
    for (const entry* const end = end_of_own(); place + 1 < end; ++place) {
      // relaxed(owner): as in end_release().
      place->store(place[1].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    end_release(place);
  }

  /// A lock without an entry was not acquired, or is not held any more. Returns false if no such
  /// lock can be held.
  static bool forget_unlisted() noexcept {
    auto& mine = own();
    if (mine.beyond == 0) return false;
    --mine.beyond;
    return true;
  }
  /// A lock that the thread's end has left, and that the thread releases after all.
  static bool take_back(const void* lock) noexcept {
    return own().has_ended && all().dead_.take_back(lock);
  }

  /// Whether the thread holds, releases or tries to acquire the lock already, below `place`, which
  /// may be null.
  static bool has_below(const entry* place, const void* lock) noexcept {
    const std::span<entry> mine = own_below(place);
    return std::any_of(mine.begin(), mine.end(), [lock](const entry& each) {
      // relaxed(owner): as in begin_release().
      return entry_tag::lock_of(each.load(std::memory_order_relaxed)) == lock;
    });
  }

  /// Whether the calling thread holds the lock; nothing where that may be one without an entry.
  static std::optional<bool> holds(const void* lock) noexcept {
    if (has_below(nullptr, lock)) return true;
    return own().beyond != 0 || own().has_ended ? std::nullopt : std::optional{false};
  }

  static std::span<entry> own_below(const entry* place) noexcept {
    auto& mine = own();
    if (mine.top == nullptr) return {};
    entry* const first = mine.of->entries.data();
    const entry* const end = place == nullptr ? end_of_own() : place;
    return {first, static_cast<std::size_t>(end - first)};
  }

  static table* own_table() noexcept { return own().of; }
  static bool& inside_handler() noexcept { return own().inside_handler; }

  /// What a wait that begins hides of the one that it interrupts.
  struct interrupted {
    std::uint64_t wait;
    std::int64_t since;
    const char* name;
    std::source_location at;
  };

  /// The thread waits for the lock at `place`: from here on others may count on that.
  static interrupted begin_wait(entry& place, const void* lock, std::int64_t since,
                                const char* name, std::source_location at) noexcept {
    at_start_.catch_up(&place);
    table& mine = *own().of;
    // relaxed(owner): only this thread writes its table.
    const interrupted before{mine.wait.load(std::memory_order_relaxed), mine.since.read(),
                             mine.name.read(), mine.at.read()};
    if (before.wait != 0) hide(mine);
    mine.describe(since, name, at);
    mark(&place, lock, entry_tag::waiting);
    // relaxed(atomicity): a number that no other wait has; a handler may come in between.
    const std::uint64_t serial = mine.waits.fetch_add(1, std::memory_order_relaxed) + 1;
    const auto index = static_cast<std::uint64_t>(&place - mine.entries.data());
    // order[begin]: release; pairs [wait_graph.hpp:look]; who sees the wait sees what the thread
    // holds.
    mine.wait.store(serial * table::entries_in_wait + index, std::memory_order_release);
    // order[begun]: seq_cst; pairs [begun]; of the threads of a cycle the one whose fence is the
    // last sees the waits of all the others when it looks next. And with the release sequence of
    // the lock's word, a wait that ended before an owner released the lock is seen to be over.
    W::fence(std::memory_order_seq_cst);
    return before;
  }

  /// The wait is over; its lock is held or not.
  static void end_wait(entry& place, const void* lock, const interrupted& before) noexcept {
    table& mine = *own().of;
    hide(mine);
    mark(&place, lock, entry_tag::held);
    // Even where no wait was visible: one may have been about to become so.
    mine.describe(before.since, before.name, before.at);
    if (before.wait == 0) return;
    // relaxed(atomicity): as in begin_wait().
    const std::uint64_t serial = mine.waits.fetch_add(1, std::memory_order_relaxed) + 1;
    // order[resume]: release; pairs [wait_graph.hpp:look]; as there.
    mine.wait.store(serial * table::entries_in_wait + table::entry_of_wait(before.wait),
                    std::memory_order_release);
  }

  static table& of(std::size_t slot) noexcept { return all().tables_[slot]; }
  /// From here on no slot has had a table.
  static std::size_t count() noexcept {
    // relaxed(fence): of a cycle, begin_wait()'s fences make the last one see all tables.
    return all().count_.load(std::memory_order_relaxed);
  }

  /// Whether its owner has ended. Of a lock that a thread of the parent was acquiring or releasing
  /// at a fork it may seem so, until a living one has it.
  static bool is_dead(const void* lock) noexcept {
    at_start_.catch_up();
    return all().dead_.contains(lock) && table_of_owner(lock) == nullptr;
  }
  /// The kernel's number of the thread that seems to hold the lock; 0 if none does.
  static std::uint32_t living_owner(const void* lock) noexcept {
    const table* const owner = table_of_owner(lock);
    return owner != nullptr ? owner->thread.read() : 0;
  }
  static bool exhume(const void* lock) noexcept {
    at_start_.catch_up();
    return all().dead_.remove(lock);
  }

  /// After fork the child has none of the other threads: what they held is a dead thread's. `place`
  /// is that of the lock for which the calling thread is about to wait, or null.
  static void forget_in_child(const entry* place = nullptr) noexcept {
    for (std::size_t slot = 0; slot < count(); ++slot) {
      table& each = of(slot);
      if (&each == own().of) continue;
      // relaxed(owner): the child has one thread.
      const bool waits = each.wait.load(std::memory_order_relaxed) != 0;
      // Who wanted a lock, and had not begun to wait, looks as if it held that: another one does.
      each.bury_all(waits, [place](const void* lock) {
        if (!has_below(place, lock) && !all().dead_.contains(lock)) all().dead_.add(lock);
      });
      // relaxed(owner): as above.
      each.wait.store(0, std::memory_order_relaxed);
    }
    if (own().of != nullptr) own().of->thread.write(W::thread_id());
  }

 private:
  /// Of the calling thread. Trivially destructible, so that locks may be used until its very end.
  struct [[gnu::visibility("default")]] memory {
    entry* top = nullptr;  ///< the last entry in use, or the one after it; null: no table
    table* of = nullptr;
    std::uint32_t beyond = 0;  ///< locks without an entry
    bool has_ended = false;
    bool has_told = false;
    bool inside_handler = false;
  };
  /// Buries what the thread still holds when it ends.
  struct [[gnu::visibility("default")]] last_will {
    memory* of = nullptr;

    constexpr last_will() noexcept = default;
    last_will(const last_will&) = delete;
    last_will& operator=(const last_will&) = delete;
    ~last_will() {
      if (of == nullptr || of->of == nullptr) return;
      of->has_ended = true;  // first: a handler opens no table any more
      keep_order();
      of->of->bury_all(false, [](const void* lock) { all().dead_.leave(lock); });
      of->top = nullptr;
      keep_order();
      of->of = nullptr;
    }
  };

  static const table* table_of_owner(const void* lock) noexcept {
    for (std::size_t slot = 0; slot < count(); ++slot) {
      for (const entry& each : of(slot).entries) {
        // relaxed(hint): a caller that gets it wrong looks again, or only reports it.
        if (each.load(std::memory_order_relaxed) == entry_tag::entry_of(lock)) return &of(slot);
      }
    }
    return nullptr;
  }

  static held_locks& all() noexcept { return W::template process_state<held_locks>(); }
  static memory& own() noexcept { return W::template thread_state<memory>(); }
  static void keep_order() noexcept {
    // order[own]: acq_rel; pairs [own]; the thread's handlers find each step done or not begun.
    std::atomic_signal_fence(std::memory_order_acq_rel);
  }

  static bool is_taken(const entry& each) noexcept {
    // relaxed(owner): only this thread writes entries.
    return each.load(std::memory_order_relaxed) != 0;
  }
  static bool is_of(const entry& each, const void* lock) noexcept {
    // relaxed(owner): as above.
    return each.load(std::memory_order_relaxed) == entry_tag::entry_of(lock);
  }
  static entry* end_of_own() noexcept {
    entry* const top = own().top;
    return top != nullptr && is_taken(*top) ? top + 1 : top;
  }

  static entry* enter_above(entry* place, const void* lock) noexcept {
    if (place == nullptr || reinterpret_cast<std::uintptr_t>(place + 1) % table::bytes == 0)
        [[unlikely]] {
      return enter_slowly(lock);
    }
    own().top = place + 1;
    keep_order();
    return mark(place + 1, lock, entry_tag::held);
  }
  static entry* mark(entry* place, const void* lock, std::uint64_t tag) noexcept {
    // relaxed(owner): others see it by the wait that begins afterwards.
    place->store(entry_tag::entry_of(lock) | tag, std::memory_order_relaxed);
    keep_order();
    return place;
  }
  static void hide(table& mine) noexcept {
    // relaxed(fence): a reader that sees what follows does not find the old wait any more.
    mine.wait.store(0, std::memory_order_relaxed);
    // order[hide]: release; pairs [wait_graph.hpp:look_again]; for that reason.
    W::fence(std::memory_order_release);
  }

  [[gnu::noinline, gnu::cold]] static entry* enter_slowly(const void* lock) noexcept {
    auto& mine = own();
    if (mine.of == nullptr && !mine.has_ended && open_table()) {
      return mark(mine.top, lock, entry_tag::held);
    }
    ++mine.beyond;
    if (!mine.has_told) {
      mine.has_told = true;
      const auto what = mine.of == nullptr ? lock_event::no_table : lock_event::table_overflow;
      deliver({what, {W::thread_id(), {lock, nullptr}, {}}, {}, {}}, mine.inside_handler);
    }
    return nullptr;
  }

  static bool open_table() noexcept {
    const std::uint32_t slot = W::thread_slot();
    if (slot == no_slot) return false;
    static_cast<void>(&at_start_);  // makes sure that it exists
    auto& mine = own();
    mine.of = &of(slot);
    mine.top = mine.of->entries.data();
    W::template thread_state<last_will>().of = &mine;  // made after the slot's: ends before it
    mine.of->thread.write(W::thread_id());
    // relaxed(revalidated): the exchange decides.
    std::uint32_t found = all().count_.load(std::memory_order_relaxed);
    // relaxed(atomicity): tables are there from the beginning.
    while (found <= slot &&
           !all().count_.compare_exchange_weak(found, slot + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
    }
    return true;
  }

  static inline const typename W::template at_start<held_locks> at_start_{};

  std::array<table, W::slot_count> tables_{};
  typename W::template atomic<std::uint32_t> count_{0};
  dead_owners<W> dead_{};
};

}  // namespace lockyard::inline v0::detail
