// SPDX-License-Identifier: Apache-2.0
#pragma once

// The semaphore and the recursive mutex with a rule left out.

#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lockyard::checker {

enum class semaphore_fault : std::uint8_t {
  none,
  serves_one,         ///< a release lets one go on though there is enough for more
  forgets_others,     ///< later waiters, when the first one has been served
  looks_first,        ///< looks for permits, and then marks the word
  gives_up_silently,  ///< without a look at later waiters
  tells_first,        ///< wakes the thread, and then writes the word
  trusts_the_mark,    ///< which may have gone by the time of the guard
};

/// The semaphore, without its spin, and with one fault.
template <world W, semaphore_fault Fault>
class faulty_semaphore {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using wake_reason = typename lot::wake_reason;
  using wake_list = typename lot::wake_list;
  static constexpr auto kind = detail::waiter_kind::semaphore;

 public:
  void acquire(std::ptrdiff_t permits = 1) noexcept {
    if (!try_acquire(permits)) wait(number(permits));
  }
  [[nodiscard]] bool try_acquire(std::ptrdiff_t permits = 1) noexcept {
    const std::uint32_t wanted = number(permits);
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & awaited) == 0 && found / one >= wanted) {
      if (word_.compare_exchange_strong(found, found - wanted * one, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return wanted == 0;
  }
  [[nodiscard]] bool try_acquire_for(std::ptrdiff_t permits,
                                     std::chrono::milliseconds duration) noexcept {
    return try_acquire(permits) ||
           detail::wait_within<W>(duration, [this, permits](typename W::deadline limit) {
             return wait(number(permits), limit);
           });
  }

  void release(std::ptrdiff_t permits = 1) noexcept {
    const std::uint32_t added = number(permits);
    if ((add(added) & awaited) == 0) return;
    auto& home = lot::bucket_of(this);
    wake_list awake;
    home.bucket_lock().lock();
    const std::uint32_t found = Fault == semaphore_fault::trusts_the_mark
                                    ? word_.load(std::memory_order_relaxed) | awaited
                                    : add(added);
    if ((found & awaited) != 0) distribute(found / one + added, awake);
    home.bucket_lock().unlock();
    awake.wake();
  }

 private:
  static constexpr std::uint32_t awaited = 1, one = 2;

  struct node : lot::node {
    node(const void* semaphore, std::uint32_t wanted) noexcept
        : lot::node{semaphore, kind, {}}, permits{wanted} {}
    const std::uint32_t permits;
  };

  static std::uint32_t number(std::ptrdiff_t permits) noexcept {
    return static_cast<std::uint32_t>(permits);
  }

  std::uint32_t add(std::uint32_t added) noexcept {
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    while ((found & awaited) == 0 &&
           !word_.compare_exchange_strong(found, found + added * one, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    return found;
  }

  void distribute(std::uint32_t permits, wake_list& awake) noexcept {
    auto& home = lot::bucket_of(this);
    auto* const first = home.first(this, kind);
    unsigned served = 0;
    auto* next = first;
    for (; next != nullptr && static_cast<node*>(next)->permits <= permits;
         next = home.next(*next)) {
      if (Fault == semaphore_fault::serves_one && served == 1) break;
      permits -= static_cast<node*>(next)->permits;
      ++served;
    }
    const bool stays = next != nullptr && (Fault != semaphore_fault::forgets_others || served == 0);
    const std::uint32_t word = permits * one | (stays ? awaited : 0);
    if (Fault != semaphore_fault::tells_first) word_.store(word, std::memory_order_release);
    for (next = first; served > 0; --served) {
      auto& told = *next;
      next = home.next(told);
      awake.add(home.unpark(told, wake_reason::owner));
    }
    if (Fault == semaphore_fault::tells_first) word_.store(word, std::memory_order_release);
  }

  bool wait(std::uint32_t wanted, typename W::deadline limit = W::never) noexcept {
    auto& home = lot::bucket_of(this);
    node self{this, wanted};
    if (enqueue(self)) return true;
    wake_list awake;
    const auto left = [&] {
      if (Fault == semaphore_fault::gives_up_silently && home.first(this, kind) != nullptr) return;
      distribute(word_.load(std::memory_order_relaxed) / one, awake);
    };
    const wake_reason reason = lot::sleep(home, self, left, limit);
    awake.wake();
    return reason == wake_reason::owner;
  }

  bool enqueue(node& self) noexcept {
    auto& home = lot::bucket_of(this);
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    const bool others_sleep = home.first(this, kind) != nullptr;
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    bool taken = false;
    if (Fault == semaphore_fault::looks_first && found / one < self.permits) {
      word_.fetch_or(awaited, std::memory_order_acquire);
    } else {
      std::uint32_t next = 0;
      do {
        taken = !others_sleep && found / one >= self.permits;
        next = taken ? (found & ~awaited) - self.permits * one : found | awaited;
      } while (!word_.compare_exchange_strong(found, next, std::memory_order_acquire,
                                              std::memory_order_relaxed));
    }
    if (!taken) home.link(self);
    home.bucket_lock().unlock();
    return taken;
  }

  atomic<W, std::uint32_t> word_{0};
};

enum class recursion_fault : std::uint8_t {
  none,
  frees_early,  ///< the first unlock frees it
  keeps_owner,  ///< when it is freed
  names_late,   ///< erases the owner after the mutex has been freed
};

/// The recursive mutex, with one fault.
template <class M, world W, recursion_fault Fault>
class faulty_recursive_mutex {
 public:
  void lock() noexcept {
    if (is_mine()) return depth_.write(depth_.read() + 1);
    mutex_.lock();
    owner_.store(W::thread_key(), std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (is_mine() && depth_.read() != 0) {
      depth_.write(depth_.read() - 1);
      if (Fault != recursion_fault::frees_early) return;
      return mutex_.unlock();
    }
    if (Fault == recursion_fault::none || Fault == recursion_fault::frees_early) disown();
    mutex_.unlock();
    if (Fault == recursion_fault::names_late) disown();
  }

 private:
  void disown() noexcept { owner_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] bool is_mine() const noexcept {
    return owner_.load(std::memory_order_relaxed) == W::thread_key();
  }

  atomic<W, std::uintptr_t> owner_{0};
  var<W, std::uint32_t> depth_{0};
  M mutex_;
};

}  // namespace lockyard::checker
