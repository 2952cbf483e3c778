// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/arch.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/idle.hpp>
#include <lockyard/guard.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace lockyard::inline v0 {

/// The result of an attempt to put a value into a queue.
enum class push_result : std::uint8_t { done, full, closed };

/// A bounded queue for any number of threads at either end, first in, first out. Takers wait as the
/// idle policy says; putters sleep while the queue is full. It can be closed: then nothing more
/// goes in, and the values in it still come out.
///
/// Use: to hand work to threads. A ring under a mutex, because waiting is the main cost here
///   (docs/decisions/0015-the-task-queue.md).
/// Guarantees: every value that went in comes out once; first in, first out; no lost wake-up
///   (below). A waiter has no claim: of several threads, the first to arrive is served.
/// Lifetime: the user ensures before the destruction that no other thread is in a call, and that it
///   is empty where that matters. The memory of the slots is its owner's.
///
/// | state_ | meaning |
/// |---|---|
/// | n | so many values wait |
/// | closed + n | nothing goes in any more, and so many values wait |
///
/// Invariants: I1 state_ and the slots change under the mutex alone. I2 closed stays set forever.
/// I3 a thread waits to take only while it sees 0, to put only while it sees n = capacity.
/// No lost wake-up: after each change that ends a wait by I3, the thread that made it notifies the
/// side that may wait for it: a push notifies one taker, a pop one putter, and close() all threads.
/// One is enough: it ends the wait of one taker, which takes the value or finds that another taker
/// was quicker; that other taker came without waiting, and looks again before it waits. A
/// notification on each push, not only on the first into an empty queue, because two pushes let two
/// threads go on. Outside of the mutex the word is a hint; a thread that acts on it looks again
/// under the mutex. The checker's client task_queue_* shows each policy; its mutants drop a
/// notification, notify too early, or wake one thread where all are meant.
template <class T, class Idle, world W = default_world>
  requires idle::policy<Idle, W> && std::is_trivially_copyable_v<T>
class basic_task_queue {
 public:
  using slot = var<W, T>;
  static constexpr std::size_t most_slots = 0x7FFF'FFFF;

  /// Precondition: 1 to most_slots slots, which outlive the queue and are left alone.
  explicit basic_task_queue(std::span<slot> slots) noexcept : slots_{slots} {}
  basic_task_queue(const basic_task_queue&) = delete;
  basic_task_queue& operator=(const basic_task_queue&) = delete;

  /// Effects: puts the value in, or says why not. Does not wait for room.
  /// Synchronisation: everything done before happens before the return of the pop that takes it.
  [[nodiscard]] push_result try_push(T value) noexcept {
    {
      const guard held{mutex_};
      // relaxed(locked): changes under the mutex alone.
      const std::uint32_t before = state_.load(std::memory_order_relaxed);
      if ((before & closed) != 0) return push_result::closed;
      if (before == slots_.size()) return push_result::full;
      slots_[(std::size_t{first_.read()} + before) % slots_.size()].write(value);
      // relaxed(locked): as above.
      state_.store(before + 1, std::memory_order_relaxed);
    }
    idle_.notify_one();
    return push_result::done;
  }

  /// Effects: as try_push(), and waits while the queue is full and not closed.
  /// Progress: none without takers.
  [[nodiscard]] push_result push(T value) noexcept {
    push_result found = try_push(value);
    while (found == push_result::full) {
      // relaxed(fence): the event count orders the last look against the change.
      room_.await([this] { return state_.load(std::memory_order_relaxed) != slots_.size(); });
      found = try_push(value);
    }
    return found;
  }

  /// Effects: takes the value that has waited longest; nothing if there is none. Does not wait.
  /// Synchronisation: as try_push().
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    std::optional<T> found;
    {
      const guard held{mutex_};
      // relaxed(locked): changes under the mutex alone.
      const std::uint32_t before = state_.load(std::memory_order_relaxed);
      if ((before & ~closed) == 0) return found;
      const std::uint32_t place = first_.read();
      found = slots_[place].read();
      first_.write(static_cast<std::uint32_t>((place + std::size_t{1}) % slots_.size()));
      // relaxed(locked): as above.
      state_.store(before - 1, std::memory_order_relaxed);
    }
    room_.notify_one();
    return found;
  }

  /// Effects: takes the value that has waited longest, waiting for one as the idle policy says;
  /// nothing once the queue is closed and empty.
  [[nodiscard]] std::optional<T> pop() noexcept {
    for (;;) {
      idle_.wait(state_, [](std::uint32_t seen) { return seen != 0; });
      if (const std::optional<T> found = try_pop()) return found;
      // relaxed(revalidated): once it is closed and empty, it stays so.
      if (state_.load(std::memory_order_relaxed) == closed) return std::nullopt;
    }
  }

  /// Effects: lets nothing in from now on; threads that wait for room, or for a value that will
  /// never come, go on. Does nothing the second time.
  void close() noexcept {
    {
      const guard held{mutex_};
      // relaxed(locked): changes under the mutex alone.
      const std::uint32_t before = state_.load(std::memory_order_relaxed);
      // relaxed(locked): as above.
      state_.store(before | closed, std::memory_order_relaxed);
    }
    idle_.notify_all();
    room_.notify_all();
  }

  /// Returns the number of values that wait; other threads may change it at any time.
  [[nodiscard]] std::size_t size() const noexcept {
    // relaxed(hint): old as soon as it is read.
    return state_.load(std::memory_order_relaxed) & ~closed;
  }

 private:
  static constexpr std::uint32_t closed = 0x8000'0000;

  // Spinning threads look at state_ all the time, and must leave the others' cache lines alone.
  alignas(detail::arch::interference_size) detail::inner_lock<W, basic_mutex<W>> mutex_;
  var<W, std::uint32_t> first_{0};  ///< the slot of the value that waits longest
  std::span<slot> slots_;
  alignas(detail::arch::interference_size) atomic<W, std::uint32_t> state_{0};
  alignas(detail::arch::interference_size) typename Idle::template in<W> idle_;
  basic_event_count<W> room_;
};

}  // namespace lockyard::inline v0
