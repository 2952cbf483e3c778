// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/concepts.hpp>
#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/in_world.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>

namespace lockyard::inline v0 {

/// Makes a lock of this library recursive: its owner may lock it again, and it is free when each
/// lock has been unlocked. docs/locks/recursive_mutex.md explains it in detail.
///
/// Use: where code that holds a lock calls code that takes it, and neither can be changed.
///   Otherwise it hides the state of the data: a function that locks again may find them half
///   changed.
/// Source: the owner and the count next to a lock as in Java's monitors and POSIX's recursive
///   mutexes.
/// Guarantees: as M, whose locks among threads are all that matters here: exclusion, order of
///   service, time-outs, destruction. Recursive. Not safe between a thread and its own signal
///   handler, which would find itself the owner between any two instructions. After fork, held by
///   the forking thread alone, in the child too, as far as M is. On x86 unlock over `mutex` does
///   not order non-temporal stores: they need an sfence before it.
/// Size: 12 bytes and M, rounded up to 8. If all zero bytes are M's free state, they are its own.
///
/// | owner_ | depth_ | M | meaning |
/// |---|---|---|---|
/// | 0 | 0 | free | free |
/// | 0 | 0 | held | held by a thread that is about to say so, or is about to release it |
/// | a thread | n | held | held by that thread, n + 1 times |
///
/// I1 Only the owner of M writes owner_ and depth_. It writes its own key into owner_ first, and 0
///    last.
/// The owner knows itself without any ordering: a thread that reads its own key reads a value that
/// it wrote itself and has not overwritten since, because by I1 no other thread writes that value,
/// and a thread sees its own writes in their order. So it holds M, and depth_ is its own. Any other
/// value says no more than that the thread is not the owner. Keys never come back: a mutex whose
/// owner has ended without an unlock stays held, also for a later thread that lies where the owner
/// lay in memory, and lock() waits as for any M that is never unlocked.
template <lockable M = mutex, std::uint32_t MaxDepth = UINT32_MAX>
class LOCKYARD_CAPABILITY recursive_mutex
    : public detail::held_assertions<recursive_mutex<M, MaxDepth>, world_of_t<M>,
                                     detail::ownership::known> {
  using W = world_of_t<M>;

 public:
  /// The number of times that a thread can hold it at once.
  static constexpr std::uint32_t max_depth = MaxDepth;
  static_assert(max_depth > 0);

  constexpr recursive_mutex() noexcept = default;
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;

  /// Effects: acquires the mutex as M's lock() does; if the calling thread holds it already, holds
  /// it one more time, at once.
  /// Synchronisation: everything that earlier owners did before they released it happens before the
  /// return.
  /// Progress: as M; wait-free for its owner.
  /// Errors: a thread that holds it `max_depth` times already ends the process with a message.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const std::uintptr_t self = W::thread_key();
    if (is_owned_by(self)) return lock_again();
    const typename W::acquiring scope{this};
    mutex_.lock();
    set_owner(self);
  }

  /// Effects: acquires the mutex if it is free, or the calling thread's and not held `max_depth`
  /// times; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: as M.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    return acquire([this] { return mutex_.try_lock(); });
  }

  /// As M's function: waits for at least `duration` if it has to. Otherwise as try_lock().
  template <class Rep, class Period>
    requires timed_lockable<M>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    return acquire([&] { return mutex_.try_lock_for(duration); });
  }
  /// Does the same, until `Clock` has reached `limit`.
  template <class Clock, class Duration>
    requires timed_lockable<M>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    return acquire([&] { return mutex_.try_lock_until(limit); });
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: holds it one time less; releases it if that was the last time.
  /// Synchronisation: everything done before the last one happens before the next acquisition's
  /// return. Progress: as M.
  void unlock() noexcept LOCKYARD_RELEASE() {
    if (leave_inner_hold()) return;
    const typename W::releasing scope{this};
    disown();
    mutex_.unlock();
  }

  /// As unlock(), but the last unlock hands the mutex off as M's unlock_fair() does.
  template <class Inner = M>
    requires requires(Inner& mutex) { mutex.unlock_fair(); }
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    if (leave_inner_hold()) return;
    const typename W::releasing scope{this};
    disown();
    mutex_.unlock_fair();
  }

 private:
  friend detail::held_assertions<recursive_mutex, W, detail::ownership::known>;

  static constexpr std::uintptr_t nobody = 0;

  [[nodiscard]] std::optional<bool> is_held_here() const noexcept {
    return is_owned_by(W::thread_key());
  }

  /// `self` is the calling thread.
  [[nodiscard]] bool is_owned_by(std::uintptr_t self) const noexcept {
    // relaxed(owner): this thread's key is there only if this thread put it there.
    return owner_.load(std::memory_order_relaxed) == self;
  }
  void set_owner(std::uintptr_t next) noexcept {
    // relaxed(owner): a thread takes nothing but its own key from it.
    owner_.store(next, std::memory_order_relaxed);
  }

  /// Returns false if it is held as often as it counts.
  bool deepen() noexcept {
    if (depth_.read() == max_depth - 1) return false;
    depth_.write(depth_.read() + 1);
    return true;
  }
  void lock_again() noexcept {
    if (!deepen()) [[unlikely]] {
      detail::os::refuse(
          "a recursive_mutex is locked again by a thread that holds it max_depth times, as "
          "often as it counts: a lock of it is missing its unlock, or recurses without an end");
    }
  }

  /// Returns false if this unlock is the one that releases the mutex.
  bool leave_inner_hold() noexcept {
    if (!is_owned_by(W::thread_key())) [[unlikely]]
      return false;
    const std::uint32_t depth = depth_.read();
    if (depth != 0) depth_.write(depth - 1);
    return depth != 0;
  }
  void disown() noexcept {
    assert(is_owned_by(W::thread_key()) &&
           "recursive_mutex: a thread unlocks what it does not hold");
    set_owner(nobody);
  }

  template <class Acquire>
  bool acquire(Acquire from_others) noexcept {
    const std::uintptr_t self = W::thread_key();
    if (is_owned_by(self)) return deepen();
    typename W::acquiring scope{this, W::trying};
    const bool acquired = from_others();
    if (acquired) set_owner(self);
    return scope.result(acquired);
  }

  // The first member, because a watch knows a lock by its address.
  atomic<W, std::uintptr_t> owner_{nobody};
  var<W, std::uint32_t> depth_{0};
  in_world_t<M, detail::unwatched<W>> mutex_;
};

namespace detail {
template <class M, std::uint32_t MaxDepth>
struct world_of<recursive_mutex<M, MaxDepth>> : world_of<M> {};
template <class M, std::uint32_t MaxDepth, world To>
struct in_world<recursive_mutex<M, MaxDepth>, To> {
  using type = recursive_mutex<in_world_t<M, To>, MaxDepth>;
};
}  // namespace detail

}  // namespace lockyard::inline v0
