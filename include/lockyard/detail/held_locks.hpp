// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tables of all threads, and the operations of a thread on its own table: the base of the
// detection of deadlocks.

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

/// The tables of all threads, and the locks that dead threads held. A thread slot has one table,
/// which is never deallocated, so it may be read at any time.
template <world W>
class [[gnu::visibility("default")]] held_locks {
 public:
  using table = held_table<W>;
  using entry = typename table::word;
  static constexpr state_traits process_traits{
      .key = state_key{"held_locks"}.add_world<W>().value(), .starts_as_zeros = true};

  // The fast paths of the calling thread.

  /// Enters a lock that the thread is about to acquire, and returns its entry. Returns null where
  /// there is no room, and only counts the lock then.
  static entry* enter(const void* lock) noexcept {
    entry* const place = own().top;
    if (place != nullptr && !is_taken(*place)) [[likely]]
      return mark(place, lock, entry_tag::held);
    return enter_above(place, lock);
  }

  /// Returns the entry of a lock that is about to be released, if the thread acquired it last;
  /// otherwise null.
  static entry* begin_release(const void* lock) noexcept {
    entry* const top = own().top;
    if (top == nullptr) [[unlikely]]
      return nullptr;
    if (is_of(*top, lock)) [[likely]]
      return mark(top, lock, entry_tag::releasing);
    if (is_taken(*top) || !is_of(top[-1], lock)) return nullptr;
    return mark(top - 1, lock, entry_tag::releasing);
  }

  /// Ends the release of the lock at `place`. A signal handler that runs in between uses the
  /// entries above, and leaves them empty.
  static void end_release(entry* place) noexcept {
    keep_order();
    // relaxed(owner): other threads rely only on entries of a waiting thread; this one runs.
    place->store(0, std::memory_order_relaxed);
    keep_order();
    // The condition avoids a store, for which the next locked instruction would have to wait.
    if (own().top != place) own().top = place;
  }

  // The slow paths of the calling thread.

  /// The same as begin_release(), for any lock that has an entry.
  static entry* begin_release_below(const void* lock) noexcept {
    const std::span<entry> mine = own_below(nullptr);
    for (std::size_t i = mine.size(); i-- > 0;) {
      if (is_of(mine[i], lock)) return mark(&mine[i], lock, entry_tag::releasing);
    }
    return nullptr;
  }

  /// Removes the entry of a lock that is released, or was not acquired. The entries above move
  /// down, so that no hole remains: each one is there twice for a moment, and never missing.
  static void remove(entry* place) noexcept {
    keep_order();
    for (const entry* const end = end_of_own(); place + 1 < end; ++place) {
      // relaxed(owner): as in end_release().
      place->store(place[1].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    end_release(place);
  }

  /// Subtracts from the count a lock without an entry that was not acquired, or is not held any
  /// longer. Returns false if the thread can hold no such lock.
  static bool forget_unlisted() noexcept {
    auto& mine = own();
    if (mine.beyond == 0) return false;
    --mine.beyond;
    return true;
  }
  /// Takes back a lock that the end of the thread left, because the thread releases it after all.
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

  /// Whether the calling thread holds the lock; empty where it may hold locks without an entry.
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

  /// The data of an interrupted wait, which a new wait hides.
  struct interrupted {
    std::uint64_t wait;
    std::int64_t since;
    const char* name;
    std::source_location at;
  };

  /// Records that the thread waits for the lock at `place`: other threads may rely on that now.
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
    // relaxed(atomicity): a number that no other wait has; a handler may run in between.
    const std::uint64_t serial = mine.waits.fetch_add(1, std::memory_order_relaxed) + 1;
    const auto index = static_cast<std::uint64_t>(&place - mine.entries.data());
    // order[begin]: release; pairs [wait_graph.hpp:look]; a thread that sees the wait sees the
    // locks that the waiting thread holds.
    mine.wait.store(serial * table::entries_in_wait + index, std::memory_order_release);
    // order[begun]: seq_cst; pairs [begun]; the thread of a cycle whose fence comes last sees the
    // waits of all the other threads at its next look. And with the release sequence of the lock's
    // word, a wait that ended before an owner released the lock is seen to be over.
    W::fence(std::memory_order_seq_cst);
    return before;
  }

  /// Records the end of the wait, whether the thread holds the lock or not.
  static void end_wait(entry& place, const void* lock, const interrupted& before) noexcept {
    table& mine = *own().of;
    hide(mine);
    mark(&place, lock, entry_tag::held);
    // Also where no wait was visible: an interrupted wait may have been about to become visible.
    mine.describe(before.since, before.name, before.at);
    if (before.wait == 0) return;
    // relaxed(atomicity): as in begin_wait().
    const std::uint64_t serial = mine.waits.fetch_add(1, std::memory_order_relaxed) + 1;
    // order[resume]: release; pairs [wait_graph.hpp:look]; as in begin_wait().
    mine.wait.store(serial * table::entries_in_wait + table::entry_of_wait(before.wait),
                    std::memory_order_release);
  }

  static table& of(std::size_t slot) noexcept { return all().tables_[slot]; }
  /// The index from which on no slot has had a table.
  static std::size_t count() noexcept {
    // relaxed(fence): the fences of begin_wait() make the last thread of a cycle see all tables.
    return all().count_.load(std::memory_order_relaxed);
  }

  /// Whether the lock's owner has ended. For a lock that a thread of the parent was acquiring or
  /// releasing at a fork, the result may be true until a living thread holds it.
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

  /// Marks the locks of all other threads as held by dead threads, because the child of a fork has
  /// only one thread. `place` is the entry of the lock for which the calling thread is about to
  /// wait, or null.
  static void forget_in_child(const entry* place = nullptr) noexcept {
    for (std::size_t slot = 0; slot < count(); ++slot) {
      table& each = of(slot);
      if (&each == own().of) continue;
      // relaxed(owner): the child has one thread.
      const bool waits = each.wait.load(std::memory_order_relaxed) != 0;
      // A thread that wanted a lock and had not begun to wait looks like an owner, although another
      // thread holds the lock.
      each.bury_all(waits, [place](const void* lock) {
        if (!has_below(place, lock) && !all().dead_.contains(lock)) all().dead_.add(lock);
      });
      // relaxed(owner): as above.
      each.wait.store(0, std::memory_order_relaxed);
    }
    if (own().of != nullptr) own().of->thread.write(W::thread_id());
  }

 private:
  /// The calling thread's own data; trivially destructible, so that locks work until its very end.
  struct [[gnu::visibility("default")]] memory {
    entry* top = nullptr;  ///< the last entry in use, or the one after it; null: no table
    table* of = nullptr;
    std::uint32_t beyond = 0;  ///< locks without an entry
    bool has_ended = false;
    bool has_told = false;
    bool inside_handler = false;
  };
  /// Records the locks that the thread still holds when it ends as locks of a dead thread.
  struct [[gnu::visibility("default")]] last_will {
    memory* of = nullptr;

    constexpr last_will() noexcept = default;
    last_will(const last_will&) = delete;
    last_will& operator=(const last_will&) = delete;
    ~last_will() {
      if (of == nullptr || of->of == nullptr) return;
      of->has_ended = true;  // first: from here on a handler opens no table
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
        // relaxed(hint): a caller with a wrong result looks again, or only reports the result.
        if (each.load(std::memory_order_relaxed) == entry_tag::entry_of(lock)) return &of(slot);
      }
    }
    return nullptr;
  }

  static held_locks& all() noexcept { return W::template process_state<held_locks>(); }
  static memory& own() noexcept { return W::template thread_state<memory>(); }
  static void keep_order() noexcept {
    // order[own]: acq_rel; pairs [own]; the thread's handlers find each step done, or not begun.
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
    // relaxed(owner): the wait that begins afterwards makes the entry visible to other threads.
    place->store(entry_tag::entry_of(lock) | tag, std::memory_order_relaxed);
    keep_order();
    return place;
  }
  static void hide(table& mine) noexcept {
    // relaxed(fence): a reader that sees any later store does not find the old wait any longer.
    mine.wait.store(0, std::memory_order_relaxed);
    // order[hide]: release; pairs [wait_graph.hpp:look_again]; orders the store above before them.
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
      deliver({what, {W::thread_id(), {address_of_key(lock), nullptr}, {}}, {}, {}},
              mine.inside_handler);
    }
    return nullptr;
  }

  static bool open_table() noexcept {
    const std::uint32_t slot = W::thread_slot();
    if (slot == no_slot) return false;
    static_cast<void>(&at_start_);  // instantiates the object
    auto& mine = own();
    mine.of = &of(slot);
    mine.top = mine.of->entries.data();
    W::template thread_state<last_will>().of = &mine;  // made after the slot: destroyed before it
    mine.of->thread.write(W::thread_id());
    // relaxed(revalidated): the exchange decides.
    std::uint32_t found = all().count_.load(std::memory_order_relaxed);
    // relaxed(atomicity): all tables exist from the beginning.
    while (found <= slot &&
           !all().count_.compare_exchange_weak(found, slot + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
    }
    return true;
  }

  static inline const typename W::template at_start<held_locks> at_start_{};

  std::array<table, W::slot_count> tables_{};
  atomic<W, std::uint32_t> count_{0};
  dead_owners<W> dead_{};
};

}  // namespace lockyard::inline v0::detail
