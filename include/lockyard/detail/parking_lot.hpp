// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/bounds.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_bucket.hpp>
#include <lockyard/world/process_state.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace lockyard::inline v0::detail {

/// The table in which the waiters of locks too small to hold a queue sleep. A process has one
/// table, and a lock's address selects the bucket. Source: WebKit's parking lot (F. Pizlo 2016).
///
/// A bucket is the list of the queues of all objects whose addresses fall into it, one queue for
/// each address and kind, and a bucket lock (`bucket_lock()`) that protects them. A waiter is a
/// node on the stack of the thread that waits; the first node of a queue carries the queue's head.
/// Each lock decides on time, order and hand-off; all locks share these rules:
///
/// N1 A node is linked and unlinked only under the bucket lock. The node's own thread links it, and
///    the same thread, or the thread that ends its sleep, unlinks it.
/// N2 A thread that unlinks another thread's node writes the node's `reason_` last, still under the
///    bucket lock, and does not touch the node again. After that write the node may be gone, with
///    its stack. The wake that follows uses the address of `reason_` alone.
/// N3 A thread leaves the frame of its node only after it has read its wake reason (`reason_`), or
///    has unlinked the node itself under the bucket lock.
/// So a node outlives every use of it, and a sleeper receives all information through the one word
/// `reason_`. The checker's clients parking_lot and reuse_*, and the clients of the locks, would
/// show a use after the end.
///
/// B1 No thread makes a system call while it holds a bucket lock, except to read the clock, where
///    that needs a system call.
/// B2 The work done under a bucket lock is bounded by the number of objects that have sleepers in
///    the bucket, plus `batch` ended sleeps, plus `bucket::most_places` steps along one queue. It
///    does not grow with the number of threads that sleep for one object. So a thread waits for a
///    bucket lock as long as such sections take, and as long as their owners are preempted. A
///    thread with a real-time policy lends its priority to a preempted owner (bucket_lock.hpp).
template <world W>
class parking_lot {
 public:
  using node = parking_node<W>;
  using bucket = parking_bucket<W>;
  using wake_reason = detail::wake_reason;
  using sleeping_word = atomic<W, std::uint32_t>;

  /// The number of sleeps that a thread ends before it lets other threads have the bucket lock.
  static constexpr std::uint32_t batch = wake_batch<W>;
  /// The most readers that a shared mutex admits under a bucket lock.
  static constexpr std::uint32_t most_readers = at_least(batch - 1, 1U);
  /// The sleepers that were unparked under a bucket lock: the addresses to wake after its release.
  class wake_list {
   public:
    void add(const sleeping_word& sleeper) noexcept { sleepers_[count_++] = &sleeper; }
    [[nodiscard]] std::uint32_t room() const noexcept { return batch - count_; }
    /// Wakes all of them. Precondition: the caller holds no bucket lock.
    void wake() noexcept {
      if (count_ != 0) W::wake_each(sleepers_, std::exchange(count_, 0));
    }

   private:
    /// An upgrader may be unparked with the readers.
    const void* sleepers_[at_least(batch, most_readers + 1)];
    std::uint32_t count_ = 0;
  };

  static bucket& bucket_of(const void* lock) noexcept {
    static_cast<void>(&at_start_);  // instantiates the object
    return W::template process_state<table>().buckets[index_of(W::hash(lock))];
  }
  /// The same bucket, only to read its waiter summary. Where no thread has slept in this process,
  /// the result may be a bucket of zero bytes.
  static const bucket& bucket_to_look_at(const void* lock) noexcept {
    return W::template process_state_to_look_at<table>().buckets[index_of(W::hash(lock))];
  }
  /// Sleeps until the linked node has a wake reason, and returns that reason. If there is a
  /// deadline and it passes first: unlinks the node, calls `left` under the bucket lock, and
  /// returns `asleep`.
  template <class Left>
  static wake_reason sleep(bucket& home, node& self, Left left,
                           typename W::deadline limit) noexcept {
    wake_reason reason = self.reason();
    while (reason == wake_reason::none) {
      const bool is_late = self.sleep(limit) == W::wait_result::timed_out;
      reason = self.reason();
      if (!is_late || reason != wake_reason::none) continue;
      home.bucket_lock().lock();
      reason = self.reason();
      if (reason == wake_reason::none) {
        home.remove(self);
        left();
      }
      home.bucket_lock().unlock();
      break;
    }
    return reason;
  }
  /// Unparks the first `most` threads that wait for the object when the call begins, or all threads
  /// if there are fewer, one batch at a time. For each thread it calls `before` under the bucket
  /// lock, with the argument true if no other node of the object is linked: the object may be gone
  /// after that call. Between two batches, nodes may be linked behind these nodes and other nodes
  /// may be unlinked, so the call may also unpark threads that came later.
  template <class Before>
  static void wake_up_to(std::uint32_t most, const void* object, waiter_kind kind,
                         Before before) noexcept {
    bucket& home = bucket_of(object);
    home.bucket_lock().lock();
    std::uint32_t left = at_most(most, bucket::length(home.first(object, kind)));
    for (;;) {
      wake_list sleepers;
      while (left > 0 && sleepers.room() > 0) {
        node* const first = home.first(object, kind);
        if (first == nullptr) {
          left = 0;
        } else {
          --left;
          before(bucket::length(first) == 1);
          sleepers.add(home.unpark(*first, wake_reason::retry));
        }
      }
      home.bucket_lock().unlock();
      sleepers.wake();
      if (left == 0) return;
      home.bucket_lock().lock();
    }
  }

 private:
  /// After fork the child has none of the threads that slept or held a bucket lock.
  struct [[gnu::visibility("default")]] table {
    static constexpr state_traits process_traits{
        .key = state_key{"parking_lot"}.add_world<W>().value(),
        .starts_as_zeros = true,
        .is_wiped_on_fork = true,
        .is_looked_at = true};

    bucket buckets[W::table_size]{};
  };
  static inline const typename W::template at_start<parking_lot> at_start_{};

  static constexpr std::size_t index_of(std::uint64_t hash) noexcept {
    static_assert(std::has_single_bit(W::table_size));
    constexpr int bits = std::countr_zero(W::table_size);
    if constexpr (bits == 0) {
      return 0;
    } else {
      return hash >> (64 - bits);
    }
  }
};

}  // namespace lockyard::inline v0::detail
