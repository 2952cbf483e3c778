// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/mutex_waiters.hpp>
#include <lockyard/world/world.hpp>

#include <cstdint>

namespace lockyard::inline v0::detail {

/// The bucket of a mutex, under the bucket lock, with the queue of a condition variable whose
/// threads wait with that mutex.
///
/// A condition waiter sleeps in the mutex's bucket from the beginning, in the queue of the
/// condition variable; a notification moves it to the queue of the mutex, where it sleeps on. No
/// thread can wait for a barrier at the time of that move, and none is needed: a thread that begins
/// to wait holds the mutex, and every later owner finds the condition waiter in the waiter summary
/// and executes a fence in unlock, or finds the moved waiter there before its release.
template <world W>
class condition_bucket : public guarded_bucket<W> {
  using base = guarded_bucket<W>;

 public:
  using node = typename base::node;
  using wake_reason = typename base::wake_reason;
  using sleeper = typename base::sleeper;

  condition_bucket(mutex_waiters<W> of, const void* condition) noexcept
      : base{of}, condition_{condition} {}

  /// Returns the condition variable's first waiter, or null.
  [[nodiscard]] node* first_waiter() const noexcept {
    return this->bucket().first(condition_, waiter_kind::condition);
  }
  /// Links the node of the mutex's owner, which begins to wait for the condition variable.
  void link_waiter(node& own) noexcept {
    this->bucket().link(own);
    auto& count = this->bucket().condition_waiters;
    const std::uint32_t before = count.read();
    count.write(before + 1);
    if (before == 0) this->write(this->summary().with_condition_waiters());
  }
  void unlink_waiter(node& own) noexcept {
    this->bucket().remove(own);
    subtract_waiter();
  }
  [[nodiscard]] sleeper unpark_waiter(node& waits, wake_reason reason) noexcept {
    sleeper const unparked = &this->bucket().unpark(waits, reason);
    subtract_waiter();
    return unparked;
  }
  /// Moves a waiter to the queue of the mutex, where it sleeps on. The waiter summary counts it as
  /// a sleeper before it may forget the condition waiters, and the caller executes a fence before
  /// it checks whether the mutex is free.
  void move_waiter(node& sleeps, typename W::time_point now) noexcept {
    if (!this->summary().has_sleepers()) this->restart_patience(now);
    this->bucket().move(sleeps, this->lock(), waiter_kind::mutex, now);
    this->add_sleepers(1);
    subtract_waiter();
  }

 private:
  void subtract_waiter() noexcept {
    auto& count = this->bucket().condition_waiters;
    const std::uint32_t less = count.read() - 1;
    count.write(less);
    if (less == 0) this->write(this->summary().without_condition_waiters());
  }

  const void* condition_;
};

}  // namespace lockyard::inline v0::detail
