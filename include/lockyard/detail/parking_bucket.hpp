// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/bucket_lock.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// What a node waits for, besides an address. A lock may end while a thread is still about to wake
/// its waiters, and another object may begin its life at that address: each kind of object, and
/// each way in which a thread may want it, has a queue of its own, so a late thread never finds the
/// waiters of another kind. A late thread that finds waiters of the same kind gives them a spurious
/// wake-up, which each kind allows.
enum class waiter_kind : std::uint8_t {
  mutex,      ///< any basic_mutex, whatever its fences
  condition,  ///< basic_condition_variable; in the bucket of the mutex
  any_condition,
  byte_mutex,
  semaphore,
  auto_reset_event,
  event_count,
  shared,  ///< basic_shared_mutex: this and the next three, one for each request
  shared_upgrade,
  shared_write,
  shared_write_on,
  others,  ///< from here on: clients of the checker, and tests
};

/// What a sleeper is told. Each lock says what its words mean.
enum class parking_fate : std::uint32_t {
  asleep,      ///< nothing yet
  awake,       ///< look again
  designated,  ///< look again; others count on it
  owner,       ///< the lock was handed over
};

template <world W>
class parking_bucket;

/// A waiter: on the stack of the thread that waits. parking_lot.hpp has the rules.
template <world W>
class parking_node {
 public:
  using fate = parking_fate;
  using sleeping_word = typename W::template atomic<std::uint32_t>;

  parking_node(const void* object, waiter_kind kind, typename W::time_point since) noexcept
      : waits_for_{key{object, kind}}, since_{since} {}
  parking_node(const parking_node&) = delete;
  parking_node& operator=(const parking_node&) = delete;

  [[nodiscard]] typename W::time_point since() const noexcept { return since_.read(); }
  /// Under the guard once it has been linked.
  [[nodiscard]] waiter_kind kind() const noexcept { return waits_for_.read().kind; }
  /// Under the guard: whether its sleep was ended before, and it did not get what it waits for.
  [[nodiscard]] bool was_roused() const noexcept { return was_roused_.read(); }

  /// Before the node is linked.
  void falls_asleep() noexcept {
    // relaxed(unpublished): the guard publishes the node.
    fate_.store(static_cast<std::uint32_t>(fate::asleep), std::memory_order_relaxed);
  }
  /// Under the guard, after its own thread has unlinked it: others see that it sleeps no more.
  void gets_up() noexcept {
    // relaxed(locked): who relies on it holds the guard.
    fate_.store(static_cast<std::uint32_t>(fate::awake), std::memory_order_relaxed);
  }
  [[nodiscard]] fate seen() const noexcept {
    // order[seen]: acquire; pairs [told]; the owner-to-be starts after the last owner's section.
    return static_cast<fate>(fate_.load(std::memory_order_acquire));
  }
  /// Spins until something has been told, or the deadline has passed.
  void spin(typename W::deadline limit) const noexcept {
    const auto is_news = [](std::uint32_t told) noexcept {
      return told != static_cast<std::uint32_t>(fate::asleep);
    };
    // relaxed(revalidated): by seen().
    W::await(fate_, is_news, std::memory_order_relaxed, wait_policies::pausing{}, limit);
  }
  /// Sleeps while nothing has been told; may return for no reason.
  template <class... Deadline>
  auto sleep(Deadline... limit) const noexcept {
    return W::wait(fate_, static_cast<std::uint32_t>(fate::asleep), limit...);
  }

 private:
  friend parking_bucket<W>;

  struct key {
    const void* object;
    waiter_kind kind;
    bool operator==(const key&) const noexcept = default;
  };
  /// What the first node of a queue carries for all.
  struct head {
    parking_node* last;
    parking_node* next_queue;  ///< of the bucket
    std::uint32_t length;
  };

  sleeping_word fate_{0};
  typename W::template var<key> waits_for_;
  typename W::template var<typename W::time_point> since_;
  typename W::template var<bool> was_roused_{false};
  typename W::template var<parking_node*> prev_{nullptr};
  typename W::template var<parking_node*> next_{nullptr};
  typename W::template var<head> head_{};
};

/// All zero bytes, so that the table costs nothing until it is used.
template <world W>
class alignas(arch::interference_size / 2) parking_bucket {
 public:
  using node = parking_node<W>;
  using fate = parking_fate;
  using sleeping_word = typename node::sleeping_word;

  /// How far along a queue a node may be put before or behind those that are there.
  static constexpr unsigned most_places = 16;

  constexpr parking_bucket() noexcept = default;

  using guard_type = typename W::template inner_lock<bucket_lock<W>>;
  guard_type& guard() noexcept { return guard_; }

  /// One bit of 32, which tells most locks of one bucket apart.
  static std::uint32_t mark_of(const void* lock) noexcept {
    return std::uint32_t{1} << (W::hash(lock) >> 17U & 31U);
  }

  // For all that follows the caller holds the guard.

  /// In the order in which the threads began to wait, not to sleep: a thread that was roused and
  /// got nothing comes back to its place. It looks for that place from the front, a newcomer from
  /// the back, each for `most_places` at most.
  void link(node& added) noexcept {
    const place at = find(added.waits_for_.read());
    if (at.leader == nullptr) {
      added.prev_.write(nullptr);
      added.next_.write(nullptr);
      lead(nullptr, added, {.last = &added, .next_queue = queues_.read(), .length = 1});
      return;
    }
    head all = at.leader->head_.read();
    ++all.length;
    node* const prev =
        added.was_roused() ? place_from_front(at.leader, added) : place_from_back(all.last, added);
    node* const next = prev == nullptr ? at.leader : prev->next_.read();
    added.prev_.write(prev);
    added.next_.write(next);
    if (next == nullptr) {
      all.last = &added;
    } else {
      next->prev_.write(&added);
    }
    if (prev == nullptr) {
      lead(at.prev_leader, added, all);
    } else {
      prev->next_.write(&added);
      at.leader->head_.write(all);
    }
  }
  void remove(node& gone) noexcept {
    const place at = find(gone.waits_for_.read());
    head all = at.leader->head_.read();
    --all.length;
    node* const prev = gone.prev_.read();
    node* const next = gone.next_.read();
    if (next == nullptr) {
      all.last = prev;
    } else {
      next->prev_.write(prev);
    }
    if (prev != nullptr) {
      prev->next_.write(next);
      at.leader->head_.write(all);
    } else if (next != nullptr) {
      lead(at.prev_leader, *next, all);
    } else {
      put_queue(at.prev_leader, all.next_queue);
    }
  }
  /// Lets a linked node wait for another object of this bucket, from now on.
  void move(node& linked, const void* object, waiter_kind kind,
            typename W::time_point now) noexcept {
    remove(linked);
    linked.waits_for_.write({object, kind});
    linked.since_.write(now);
    link(linked);
  }
  /// The first node that waits for the object in this way; null if there is none.
  [[nodiscard]] node* first(const void* object, waiter_kind kind) const noexcept {
    return find({object, kind}).leader;
  }
  /// The next one in the same queue.
  [[nodiscard]] static node* next(const node& one) noexcept { return one.next_.read(); }
  /// How many there are in the queue of its first node; 0 without one.
  [[nodiscard]] static std::uint32_t length(const node* first) noexcept {
    return first == nullptr ? 0 : first->head_.read().length;
  }

  /// Of the objects of one kind that have a queue here: how many there are, and their marks.
  struct census {
    std::uint32_t objects = 0;
    std::uint32_t marks = 0;
  };
  [[nodiscard]] census count(waiter_kind kind) const noexcept {
    census all;
    for (const node* each = queues_.read(); each != nullptr;) {
      const auto waits_for = each->waits_for_.read();
      if (waits_for.kind == kind) {
        ++all.objects;
        all.marks |= mark_of(waits_for.object);
      }
      each = each->head_.read().next_queue;
    }
    return all;
  }

  /// Whether the caller's node has not been unlinked by another thread.
  [[nodiscard]] static bool is_linked(const node& own) noexcept {
    // relaxed(locked): every write to it is made under the guard.
    return own.fate_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(fate::asleep);
  }

  /// Unlinks a node and tells it its fate.
  [[nodiscard]] const sleeping_word& release(node& sleeper, fate told) noexcept {
    remove(sleeper);
    return tell(sleeper, told);
  }
  /// Tells an unlinked node its fate. The node may be gone afterwards; the result is for W::wake,
  /// after the guard.
  [[nodiscard]] static const sleeping_word& tell(node& sleeper, fate told) noexcept {
    const sleeping_word& name = sleeper.fate_;
    sleeper.was_roused_.write(true);
    // order[told]: release; pairs [seen]; the next owner starts after the last one.
    sleeper.fate_.store(static_cast<std::uint32_t>(told), std::memory_order_release);
    return name;
  }

  /// Whether `every` has passed since this was true last.
  [[nodiscard]] bool is_due(typename W::time_point now, std::chrono::microseconds every) noexcept {
    if (now <= due_.read()) return false;
    due_.write(now + every);
    return true;
  }

  // What basic_mutex keeps here because it has no room of its own.

  /// Who sleeps, for those who do not hold the guard: an `announcement`.
  typename W::template atomic<std::uint64_t> announced{0};
  /// The lock of which one waiter is awake, or on its way, and will take it or see to it: see
  /// `attendance`.
  typename W::template atomic<std::uintptr_t> attended{0};
  /// When a sleeper was roused last, or when the first one came.
  typename W::template atomic<typename W::time_point> relieved{};
  /// Under the guard: how many sleep for something else, and may yet be moved to a basic_mutex.
  typename W::template var<std::uint32_t> expected{};
  /// Under the guard: how often the announcement got a mark.
  typename W::template var<std::uint32_t> marked{};

 private:
  using key = typename node::key;
  using head = typename node::head;

  struct place {
    node* prev_leader;  ///< of the queue before it; null for the first queue
    node* leader;       ///< null: there is no such queue
  };

  [[nodiscard]] place find(const key& wanted) const noexcept {
    place at{.prev_leader = nullptr, .leader = queues_.read()};
    while (at.leader != nullptr && at.leader->waits_for_.read() != wanted) {
      at = {.prev_leader = at.leader, .leader = at.leader->head_.read().next_queue};
    }
    return at;
  }
  /// Makes `first` the first node of the queue that comes after the queue of `prev_leader`.
  void lead(node* prev_leader, node& first, const head& all) noexcept {
    first.head_.write(all);
    put_queue(prev_leader, &first);
  }
  void put_queue(node* prev_leader, node* leader) noexcept {
    if (prev_leader == nullptr) {
      queues_.write(leader);
    } else {
      auto all = prev_leader->head_.read();
      all.next_queue = leader;
      prev_leader->head_.write(all);
    }
  }

  /// The node after which `added` belongs; null for the first place.
  static node* place_from_back(node* last, const node& added) noexcept {
    node* at = last;
    for (unsigned i = 0; i < most_places && at != nullptr && added.since() < at->since(); ++i) {
      at = at->prev_.read();
    }
    return at;
  }
  static node* place_from_front(node* first, const node& added) noexcept {
    node* at = nullptr;
    node* next = first;
    for (unsigned i = 0; i < most_places && next != nullptr && next->since() <= added.since();
         ++i) {
      at = next;
      next = next->next_.read();
    }
    return at;
  }

  guard_type guard_;
  typename W::template var<node*> queues_{nullptr};
  typename W::template var<typename W::time_point> due_{};
};

}  // namespace lockyard::inline v0::detail
