// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/concepts.hpp>
#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/in_world.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// Adds a bias to a mutex of this library: the thread that takes it again and again locks and
/// unlocks without a locked instruction, and any other thread first revokes the bias.
/// docs/locks/biased_mutex.md explains it in detail.
///
/// Use: where one thread takes the lock very often and others rarely. A revocation costs a barrier
///   on all cores (microseconds). Otherwise use M.
/// Source: N. Vasudevan, K. Namjoshi and S. Edwards (2010), with an asymmetric fence as in D. Dice,
///   H. Huang and M. Yang (2001). The bias by a count, and its return, are this library's.
/// Guarantees: mutual exclusion; no lost wake-up (below); order of service as M. Not recursive. Not
///   safe between a thread and its own signal handler. In a forked child it stays held if a thread
///   held it or was revoking the bias, and only the forking thread can unlock it. The next owner
///   may destroy it. Within one process only. On x86 unlock does not order non-temporal stores:
///   they need an sfence before it.
/// Size: 32 bytes and M, rounded up to 8. If all zero bytes are M's free state, they are its own.
///
/// A thread gets the bias by the unlock after `BiasAfter` acquisitions in a row.
///
/// | biased_to_ | inside_ | mutex_ | meaning |
/// |---|---|---|---|
/// | 0 | out | free, held | no bias: as M |
/// | a thread | out | free | free |
/// | a thread | in | free | held by that thread |
/// | a thread | leaving | free | released by that thread as soon as it stores `out` |
/// | 0 | in, leaving | held | revoked: the owner of mutex_ waits for `out`, if is_revoking_ |
///
/// I1 biased_to_ changes under mutex_ only: from 0 to the thread that owns mutex_, and back to 0.
/// I2 One thread writes inside_: the last thread that had the bias. It may do so late, after a look
///    at a bias that is gone. So another thread gets the bias only after that thread has taken
///    mutex_ itself, which shows that it has finished with inside_ (writer_).
/// Exclusion: the biased thread stores `in`, executes a light fence, and looks at biased_to_ again;
/// a revoker stores 0 there, executes a heavy fence, and looks at inside_. One of them sees the
/// other. Where the kernel has no such fence, no thread gets the bias. If the kernel takes it away
/// while a lock has a bias, the next revoker ends the process with a message.
/// No lost wake-up: before it releases, the biased thread stores `leaving`, executes a light fence,
/// and looks at biased_to_. So a revoker that sees `in` after its heavy fence is seen by that look,
/// and woken. It sleeps only while the kernel finds `in`, compared and enqueued in one step against
/// the wake. A revoker that sees `leaving` may not have been seen, but the release is at most a few
/// instructions away: it sleeps for a millisecond at a time. No look at the lock follows the
/// release, so the next owner may destroy it; the wake uses the address only. The mutants biased_*
/// show that each part is needed.
template <timed_lockable M = mutex, std::uint16_t BiasAfter = 1024>
class LOCKYARD_CAPABILITY biased_mutex
    : public detail::timed_lock<biased_mutex<M, BiasAfter>, world_of_t<M>> {
  using W = world_of_t<M>;

 public:
  /// The number of acquisitions in a row after which a thread has the bias.
  static constexpr std::uint16_t bias_after = BiasAfter;
  static_assert(bias_after > 0);

  constexpr biased_mutex() noexcept = default;
  biased_mutex(const biased_mutex&) = delete;
  biased_mutex& operator=(const biased_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex. If another thread has the bias, revokes it, and while that thread
  /// holds the mutex, spins for as long as a sleep would cost, and then sleeps.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: wait-free for the thread that has the bias, unless it is revoked; otherwise as M.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!enter()) lock_by_mutex();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Revokes the bias of another thread. May fail while that thread is about to find out, or
  /// another attempt is about to fail. Synchronisation: as lock() if it returns true, none
  /// otherwise. Progress: as M's try_lock().
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: releases it, and wakes a thread that waits for it, as M.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free for the thread that has the bias, except for the system call after a
  /// revocation; otherwise as M.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    if (is_by_mutex_.read()) return unlock_by_mutex();
    // (biased_to, inside)  self,in -> self,leaving;  0,in -> 0,leaving
    // relaxed(fence): ordered by the fence below.
    inside_.store(leaving, std::memory_order_relaxed);
    W::asymmetric_fence_light(W::registered);
    // relaxed(fence): a revoker that saw `in` after its heavy fence is seen here.
    const bool is_revoked = biased_to_.load(std::memory_order_relaxed) == no_thread;
    leave();
    if (is_revoked) [[unlikely]]
      wake_revoker();
  }

 private:
  friend detail::timed_lock<biased_mutex, W>;

  static constexpr std::uintptr_t no_thread = 0;
  static constexpr std::uint32_t out = 0, in = 1, leaving = 2;
  using spacing = wait_policies::backing_off<32, 8192>;

  // The biased thread's side

  /// Acquires the lock if the calling thread has the bias and does not hold the lock.
  bool enter() noexcept {
    const std::uintptr_t self = W::thread_key();
    // relaxed(owner): this thread's key is there only if this thread put it there.
    if (biased_to_.load(std::memory_order_relaxed) != self) return false;
    // relaxed(owner): by I2 its own, and `in` only if this thread tries a lock that it holds.
    if (inside_.load(std::memory_order_relaxed) != out) [[unlikely]]
      return false;
    // (biased_to, inside)  self,out -> self,in;  0,out -> 0,in
    // relaxed(fence): ordered by the fence below.
    inside_.store(in, std::memory_order_relaxed);
    W::asymmetric_fence_light(W::registered);
    // relaxed(fence): a revoker that missed `in` after its heavy fence is seen here. All owners
    // since this thread got the bias were this thread.
    if (biased_to_.load(std::memory_order_relaxed) == self) [[likely]]
      return true;
    retreat();
    return false;
  }

  [[gnu::noinline, gnu::cold]] void retreat() noexcept {
    leave();
    wake_revoker();
  }

  void leave() noexcept {
    // (biased_to, inside)  self,leaving -> self,out;  0,leaving -> 0,out;  0,in -> 0,out
    // order[leave]: release; pairs [excluded]; publishes the critical section, or the last one.
    inside_.store(out, std::memory_order_release);
  }
  [[gnu::noinline, gnu::cold]] void wake_revoker() noexcept { W::wake(inside_, 1); }

  // All other threads' side

  bool take() noexcept LOCKYARD_UNCHECKED {
    if (enter()) return true;
    if (!mutex_.try_lock()) return false;
    revoke();
    if (is_revoking_.read() && !looks_out()) {
      mutex_.unlock();
      return false;
    }
    hold_by_mutex();
    return true;
  }

  [[gnu::noinline]] void lock_by_mutex() noexcept LOCKYARD_UNCHECKED {
    mutex_.lock();
    revoke();
    if (is_revoking_.read()) [[unlikely]]
      wait_until_out(W::never);
    hold_by_mutex();
  }

  /// Returns false if the deadline passed first. The bias stays revoked then.
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept
      LOCKYARD_UNCHECKED {
    if (!inner_timed::take_within(mutex_, limit)) return false;
    revoke();
    if (is_revoking_.read() && !wait_until_out(limit)) {
      mutex_.unlock();
      return false;
    }
    hold_by_mutex();
    return true;
  }

  /// Takes the bias from the thread that has it. Precondition of this and what follows: the calling
  /// thread owns mutex_.
  void revoke() noexcept {
    // relaxed(locked): by I1.
    if (biased_to_.load(std::memory_order_relaxed) != no_thread) [[unlikely]]
      revoke_bias();
  }
  [[gnu::noinline, gnu::cold]] void revoke_bias() noexcept {
    // (biased_to)  a thread -> 0
    // relaxed(fence): ordered by the fence below.
    biased_to_.store(no_thread, std::memory_order_relaxed);
    if (!W::asymmetric_fence_heavy()) {
      detail::os::refuse(
          "the kernel refuses membarrier since a filter of system calls was installed, and a "
          "biased_mutex has a bias that only membarrier can revoke: allow membarrier in the "
          "filter, or use mutex");
    }
    is_revoking_.write(true);
  }

  [[nodiscard]] bool looks_out() noexcept {
    // order[excluded]: acquire; pairs [leave]; the critical section starts after the last one that
    // the biased thread held by inside_.
    if (inside_.load(std::memory_order_acquire) != out) return false;
    is_revoking_.write(false);
    return true;
  }

  /// Returns false if the deadline passed first.
  [[gnu::noinline, gnu::cold]] bool wait_until_out(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    spacing between_looks;
    const auto end_of_spin = W::spin_limit();
    // relaxed(revalidated): looks_out() decides.
    W::await(inside_, is_zero, std::memory_order_relaxed, between_looks, end_of_spin);
    while (!looks_out()) {
      if (W::passed(limit)) return scope.result(false);
      W::wait(inside_, in, limit);
      // relaxed(revalidated): the kernel compares it again.
      if (inside_.load(std::memory_order_relaxed) == leaving) {
        W::wait(inside_, leaving, W::deadline_after(std::chrono::milliseconds{1}));
      }
    }
    return true;
  }

  void hold_by_mutex() noexcept {
    is_by_mutex_.write(true);
    const std::uintptr_t self = W::thread_key();
    if (writer_.read() == self) writer_.write(no_thread);
    if (last_.read() != self) {
      last_.write(self);
      streak_.write(1);
    } else if (streak_.read() < bias_after) {
      streak_.write(static_cast<std::uint16_t>(streak_.read() + 1));
    }
  }

  void unlock_by_mutex() noexcept LOCKYARD_UNCHECKED {
    is_by_mutex_.write(false);
    if (streak_.read() == bias_after && writer_.read() == no_thread) [[unlikely]]
      get_bias();
    mutex_.unlock();
  }

  [[gnu::noinline, gnu::cold]] void get_bias() noexcept {
    streak_.write(0);
    if (!W::asymmetric_fence_register()) return;
    writer_.write(last_.read());
    // (biased_to)  0 -> self
    // relaxed(locked): other threads look under mutex_, or for their own keys only.
    biased_to_.store(last_.read(), std::memory_order_relaxed);
  }

  using inner = in_world_t<M, detail::unwatched<W>>;
  using inner_timed = detail::timed_lock<inner, detail::unwatched<W>>;

  // The first member, because a watch knows a lock by its address.
  atomic<W, std::uintptr_t> biased_to_{no_thread};
  var<W, std::uintptr_t> last_{no_thread};    ///< the last owner of mutex_
  var<W, std::uintptr_t> writer_{no_thread};  ///< had the bias, and has not taken mutex_ since
  atomic<W, std::uint32_t> inside_{out};
  var<W, std::uint16_t> streak_{0};  ///< how often last_ has acquired in a row, at most bias_after
  var<W, bool> is_by_mutex_{false};  ///< true exactly while a thread holds the lock by mutex_
  var<W, bool> is_revoking_{false};  ///< no thread has seen `out` since the last revocation
  inner mutex_;
};

namespace detail {
template <class M, std::uint16_t BiasAfter>
struct world_of<biased_mutex<M, BiasAfter>> : world_of<M> {};
template <class M, std::uint16_t BiasAfter, world To>
struct in_world<biased_mutex<M, BiasAfter>, To> {
  using type = biased_mutex<in_world_t<M, To>, BiasAfter>;
};
}  // namespace detail

}  // namespace lockyard::inline v0
