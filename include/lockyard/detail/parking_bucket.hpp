// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/bucket_lock.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The kind of object, and of request, that a node waits for; its address comes in addition. A lock
/// may end while a thread is still about to wake its waiters, and another object may begin its life
/// at that address. Therefore each kind of object, and each request that a thread can make of it,
/// has a queue of its own, and a late thread never finds the waiters of another kind. A late thread
/// that finds waiters of the same kind gives them a spurious wake-up, which each kind allows.
enum class waiter_kind : std::uint8_t {
  mutex,      ///< any basic_mutex, whatever its fences
  condition,  ///< basic_condition_variable; its waiters are in the bucket of the mutex
  any_condition,
  byte_mutex,
  semaphore,
  auto_reset_event,
  event_count,
  shared,  ///< basic_shared_mutex: this and the next three, one for each request
  shared_upgrade,
  shared_write,
  shared_write_on,
  others,  ///< this number and all above it: clients of the checker, and tests
};

/// The wake reason of a sleeper. Each lock defines the meaning of its reasons.
enum class wake_reason : std::uint32_t {
  none,  ///< no reason yet: the thread sleeps
  retry,
  active,  ///< retry, as the active waiter: other threads rely on it
  owner,   ///< the lock was handed off to this thread
};

template <world W>
class parking_bucket;

/// A waiter: a node on the stack of the thread that waits. parking_lot.hpp has the rules.
template <world W>
class parking_node {
 public:
  using wake_reason = detail::wake_reason;
  using sleeping_word = atomic<W, std::uint32_t>;

  parking_node(const void* object, waiter_kind kind, typename W::time_point since) noexcept
      : waits_for_{key{object, kind}}, since_{since} {}
  parking_node(const parking_node&) = delete;
  parking_node& operator=(const parking_node&) = delete;

  [[nodiscard]] typename W::time_point since() const noexcept { return since_.read(); }
  /// Precondition: the caller holds the bucket lock, if the node has been linked.
  [[nodiscard]] waiter_kind kind() const noexcept { return waits_for_.read().kind; }
  /// Whether the thread was unparked before and did not get the lock or event that it waits for.
  /// Precondition: the caller holds the bucket lock.
  [[nodiscard]] bool was_unparked() const noexcept { return was_unparked_.read(); }

  /// Marks the node as asleep. Precondition: the node is not linked yet.
  void prepare_to_sleep() noexcept {
    // relaxed(unpublished): the bucket lock publishes the node.
    reason_.store(static_cast<std::uint32_t>(wake_reason::none), std::memory_order_relaxed);
  }
  /// Shows other threads that the node's thread is not asleep any longer. Preconditions: the caller
  /// holds the bucket lock, and the node's own thread has unlinked the node.
  void mark_awake() noexcept {
    // relaxed(locked): each thread that relies on the value holds the bucket lock.
    reason_.store(static_cast<std::uint32_t>(wake_reason::retry), std::memory_order_relaxed);
  }
  [[nodiscard]] wake_reason reason() const noexcept {
    // order[read_reason]: acquire; pairs [write_reason]; the next owner starts after the last
    // owner's section.
    return static_cast<wake_reason>(reason_.load(std::memory_order_acquire));
  }
  /// Spins until the node has a wake reason, or the deadline has passed.
  void spin(typename W::deadline limit) const noexcept {
    const auto is_news = [](std::uint32_t reason) noexcept {
      return reason != static_cast<std::uint32_t>(wake_reason::none);
    };
    // relaxed(revalidated): reason() reads the word again.
    W::await(reason_, is_news, std::memory_order_relaxed, wait_policies::pausing{}, limit);
  }
  /// Sleeps while the node has no wake reason; may return spuriously.
  auto sleep(typename W::deadline limit = W::never) const noexcept {
    return W::wait(reason_, static_cast<std::uint32_t>(wake_reason::none), limit);
  }

 private:
  friend parking_bucket<W>;

  struct key {
    const void* object;
    waiter_kind kind;
    bool operator==(const key&) const noexcept = default;
  };
  /// The queue's data, which its first node carries for all nodes.
  struct head {
    parking_node* last;
    parking_node* next_queue;  ///< first node of the bucket's next queue
    std::uint32_t length;
  };

  sleeping_word reason_{0};
  var<W, key> waits_for_;
  var<W, typename W::time_point> since_;
  var<W, bool> was_unparked_{false};
  var<W, parking_node*> prev_{nullptr};
  var<W, parking_node*> next_{nullptr};
  var<W, head> head_{};
};

/// A bucket of the parking lot. It starts as zero bytes, so the table costs nothing until its use.
template <world W>
class alignas(arch::interference_size / 2) parking_bucket {
 public:
  using node = parking_node<W>;
  using wake_reason = detail::wake_reason;
  using sleeping_word = typename node::sleeping_word;

  /// The most nodes of a queue that link() passes while it looks for a node's place.
  static constexpr unsigned most_places = 16;

  constexpr parking_bucket() noexcept = default;

  using lock_type = inner_lock<W, detail::bucket_lock<W>>;
  lock_type& bucket_lock() noexcept { return lock_; }

  /// Returns one bit of 32, which differs between most locks of one bucket.
  static std::uint32_t mark_of(const void* lock) noexcept {
    return std::uint32_t{1} << (W::hash(lock) >> 17U & 31U);
  }

  // Precondition of all functions below: the caller holds the bucket lock.

  /// Links a node. A queue is in the order in which its threads began to wait, not to sleep: a
  /// thread that was unparked without success returns to its place. link() looks for the place of
  /// such a thread from the front, and for the place of a newcomer from the back, for at most
  /// `most_places` nodes.
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
    node* const prev = added.was_unparked() ? place_from_front(at.leader, added)
                                            : place_from_back(all.last, added);
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
  /// Moves a linked node to the queue of another object of this bucket.
  void move(node& linked, const void* object, waiter_kind kind,
            typename W::time_point now) noexcept {
    remove(linked);
    linked.waits_for_.write({object, kind});
    linked.since_.write(now);
    link(linked);
  }
  /// Returns the first node that waits for the object with this kind of request, or null.
  [[nodiscard]] node* first(const void* object, waiter_kind kind) const noexcept {
    return find({object, kind}).leader;
  }
  /// Returns the next node in the same queue, or null.
  [[nodiscard]] static node* next(const node& one) noexcept { return one.next_.read(); }
  /// Returns the number of nodes in the queue that begins with `first`; 0 if `first` is null.
  [[nodiscard]] static std::uint32_t length(const node* first) noexcept {
    return first == nullptr ? 0 : first->head_.read().length;
  }

  /// The number and the marks of the objects of one kind that have a queue in this bucket.
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

  /// Whether the caller's node is linked: no other thread has unlinked it.
  [[nodiscard]] static bool is_linked(const node& own) noexcept {
    // relaxed(locked): every write to the word is made under the bucket lock.
    return own.reason_.load(std::memory_order_relaxed) ==
           static_cast<std::uint32_t>(wake_reason::none);
  }

  /// Unlinks a node and writes its wake reason, as write_reason() does.
  [[nodiscard]] const sleeping_word& unpark(node& sleeper, wake_reason reason) noexcept {
    remove(sleeper);
    return write_reason(sleeper, reason);
  }
  /// Writes the wake reason of an unlinked node. The node may be gone afterwards. The result is the
  /// argument for W::wake, which the caller calls after it has released the bucket lock.
  [[nodiscard]] static const sleeping_word& write_reason(node& sleeper,
                                                         wake_reason reason) noexcept {
    const sleeping_word& name = sleeper.reason_;
    sleeper.was_unparked_.write(true);
    // order[write_reason]: release; pairs [read_reason]; the next owner starts after the last
    // owner's section.
    sleeper.reason_.store(static_cast<std::uint32_t>(reason), std::memory_order_release);
    return name;
  }

  /// Whether the time `every` has passed since this function last returned true.
  [[nodiscard]] bool is_due(typename W::time_point now, std::chrono::microseconds every) noexcept {
    if (now <= due_.read()) return false;
    due_.write(now + every);
    return true;
  }

  // State that basic_mutex keeps here because the mutex itself has no room for it.

  /// The waiter summary, which threads read without the bucket lock; see `waiter_summary`.
  atomic<W, std::uint64_t> summary{0};
  /// The lock that has an active waiter: one that is awake, or being woken, and bound to retry; see
  /// `mutex_waiters`.
  atomic<W, std::uintptr_t> active_waiter{0};
  /// The time of the last unpark; before the first unpark, the time when the first sleeper came.
  atomic<W, typename W::time_point> last_unpark{};
  /// The number of condition waiters: they sleep for a condition variable and may be moved to a
  /// basic_mutex later. Read and written under the bucket lock.
  var<W, std::uint32_t> condition_waiters{};
  /// How often the waiter summary got a new mark. Read and written under the bucket lock.
  var<W, std::uint32_t> new_marks{};

 private:
  using key = typename node::key;
  using head = typename node::head;

  struct place {
    node* prev_leader;  ///< first node of the queue before; null for the bucket's first queue
    node* leader;       ///< first node of the queue; null if there is no such queue
  };

  [[nodiscard]] place find(const key& wanted) const noexcept {
    place at{.prev_leader = nullptr, .leader = queues_.read()};
    while (at.leader != nullptr && at.leader->waits_for_.read() != wanted) {
      at = {.prev_leader = at.leader, .leader = at.leader->head_.read().next_queue};
    }
    return at;
  }
  /// Makes `first` the first node of the queue that follows the queue of `prev_leader`.
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

  /// Returns the node after which `added` belongs; null for the first place.
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

  lock_type lock_;
  var<W, node*> queues_{nullptr};
  var<W, typename W::time_point> due_{};
};

}  // namespace lockyard::inline v0::detail
