// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plain pthread mutex with a lock of the catalogue inside, with the semantics of POSIX.

#include "../glibc.hpp"
#include "published_waits.hpp"

#include <lockyard/catalog.hpp>

#include <array>
#include <chrono>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lockyard::preload {

/// The catalogue's lock of the name LOCKYARD_SWAPPED.
constexpr std::size_t index_of(std::string_view name) {
  return std::apply(
      [&](const auto&... entries) {
        std::size_t index = 0, found = sizeof...(entries);
        ((entries.traits.name == name ? found = index++ : index++), ...);
        return found;
      },
      catalog);
}
template <std::size_t Index>
using lock_at =
    typename std::tuple_element_t<Index, std::remove_const_t<decltype(catalog)>>::lock_type;

/// A lock fits if it has room in the bytes before the owner, and if all zero bytes are its free
/// state, which is what static initialisers leave.
template <class Lock>
inline constexpr bool fits = sizeof(Lock) <= sizeof(mutex_layout::state) && alignof(Lock) <= 8;

using swapped_lock = lock_at<index_of(LOCKYARD_SWAPPED)>;
static_assert(fits<swapped_lock>);

inline swapped_lock& lock_in(mutex_layout& mutex) noexcept {
  return *reinterpret_cast<swapped_lock*>(mutex.state.data());
}

// The owner's thread id is in the mutex for debuggers, and for the checks of the types that have
// some. A thread finds its own id there only if the thread wrote it. Only the types with checks
// remove the id at the release: of the others it names the owner if the lock is held, and then the
// thread that takes the same mutex again, as most do, has nothing to write.

inline bool is_owner(mutex_layout& mutex, std::int32_t thread) noexcept {
  // relaxed(owner): other threads' ids are all the same here.
  return std::atomic_ref{mutex.owner}.load(std::memory_order_relaxed) == thread;
}
inline bool is_mine(mutex_layout& mutex) noexcept {
  return is_owner(mutex, thread_id());
}
inline void set_owner(mutex_layout& mutex, std::int32_t owner) noexcept {
  // relaxed(owner): as above.
  std::atomic_ref{mutex.owner}.store(owner, std::memory_order_relaxed);
}

/// Threads that wait for the mutex, or for a condition variable with it. An unlocker removes its id
/// while there are some, because the lock may pass to one of them. A thread that is cancelled while
/// it waits stays counted, which costs the unlockers a store.
inline std::atomic_ref<std::uint32_t> waiters_of(mutex_layout& mutex) noexcept {
  return std::atomic_ref{mutex.count};
}
inline void begin_wait(mutex_layout& mutex) noexcept {
  // relaxed(hint): a wrong value costs a store.
  waiters_of(mutex).fetch_add(1, std::memory_order_relaxed);
}
inline void end_wait(mutex_layout& mutex) noexcept {
  // relaxed(hint): as above.
  waiters_of(mutex).fetch_sub(1, std::memory_order_relaxed);
}

/// How many forks lie between the first process and this one, and the ids that the forking thread
/// had before the last fork and has after it.
struct fork_history {
  std::atomic<std::uint32_t> count{0};
  std::int32_t id_before = 0, id_after = 0;

  /// In the child of a fork, which has one thread.
  void add(std::int32_t before, std::int32_t after) noexcept {
    id_before = before;
    id_after = after;
    // relaxed(owner): as above.
    count.fetch_add(1, std::memory_order_relaxed);
  }
};
inline constinit fork_history forks{};

/// In a child of a fork: the fork after which the mutex was used first. Zero in a new mutex.
inline std::atomic_ref<std::uint32_t> last_fork_of(mutex_layout& mutex) noexcept {
  return std::atomic_ref{mutex.forks};
}

/// The first use of a mutex in the child of a fork. Its waiters stayed in the parent, so it gets
/// the state without waiters. If it was locked without an owner, it was on its way to one of them,
/// and is free here. If another thread of the parent held it, it stays locked, as glibc's would.
[[gnu::noinline, gnu::cold]] inline void begin_in_child(mutex_layout& mutex, std::uint32_t now) {
  constexpr std::uint32_t in_progress = std::uint32_t{1} << 31;
  for (;;) {
    // order[first-use]: acquire; pairs [first-use]; the state that the first thread has made.
    std::uint32_t before = last_fork_of(mutex).load(std::memory_order_acquire);
    if (before == now) return;
    // order[first-use]: acquire; pairs [first-use]; one thread makes the state.
    // relaxed(revalidated): a failure looks again.
    if (before == (now | in_progress) ||
        !last_fork_of(mutex).compare_exchange_strong(
            before, now | in_progress, std::memory_order_acquire, std::memory_order_relaxed)) {
      std::this_thread::yield();
      continue;
    }
    const bool was_free = lock_in(mutex).try_lock();
    const bool is_own = is_owner(mutex, forks.id_before);
    if (was_free || is_own || is_owner(mutex, 0)) {
      swapped_lock fresh;
      if (!was_free && is_own) static_cast<void>(fresh.try_lock());
      std::memcpy(mutex.state.data(), static_cast<void*>(&fresh), sizeof fresh);
      set_owner(mutex, !was_free && is_own ? forks.id_after : 0);
    }
    // order[first-use]: release; pairs [first-use]; publishes the state.
    last_fork_of(mutex).store(now, std::memory_order_release);
    return;
  }
}
/// Every operation on a swapped mutex begins with this, except in the first process.
inline void settle(mutex_layout& mutex) {
  // relaxed(owner): it changes while the process has one thread.
  const std::uint32_t now = forks.count.load(std::memory_order_relaxed);
  // order[first-use]: acquire; pairs [first-use]; as above.
  if (now != 0 && last_fork_of(mutex).load(std::memory_order_acquire) != now) [[unlikely]]
    begin_in_child(mutex, now);
}

/// Calls `use` with the limit as a time point of the clock; times beyond the range of a time point
/// become its ends.
template <class Use>
auto with_time_point(clockid_t clock, const timespec& limit, Use use) {
  using std::chrono::nanoseconds;
  constexpr std::int64_t most_s = nanoseconds::max().count() / 1'000'000'000 - 1;
  nanoseconds since = nanoseconds::zero();
  if (limit.tv_sec > most_s) {
    since = nanoseconds::max();
  } else if (limit.tv_sec >= 0) {
    since = std::chrono::seconds{limit.tv_sec} + nanoseconds{limit.tv_nsec};
  }
  if (clock == CLOCK_MONOTONIC) return use(std::chrono::steady_clock::time_point{since});
  return use(std::chrono::time_point<std::chrono::system_clock, nanoseconds>{since});
}

template <class Lock, class TimePoint>
bool lock_until(Lock& lock, TimePoint limit) noexcept {
  if constexpr (requires { lock.try_lock_until(limit); }) {
    return lock.try_lock_until(limit);
  } else {
    for (; !lock.try_lock(); std::this_thread::yield()) {
      if (TimePoint::clock::now() >= limit) return false;
    }
    return true;
  }
}

/// How a plain pthread mutex behaves, by its type. `lock_normal` and `unlock_normal` do all that a
/// normal mutex needs while it is free; the other functions work with all types.
struct swapped_mutex {
  static int lock_normal(mutex_layout& mutex) {
    // The id is read first: no load behind the lock's atomic operation starts before that ends.
    const std::int32_t self = known_thread_id;
    if (self == 0 || !lock_in(mutex).try_lock()) [[unlikely]]
      return wait_for(mutex);
    if (!is_owner(mutex, self)) set_owner(mutex, self);
    return 0;
  }
  static int unlock_normal(mutex_layout& mutex) {
    // relaxed(hint): a waiter that comes later finds the last owner's id.
    if (waiters_of(mutex).load(std::memory_order_relaxed) != 0) [[unlikely]]
      set_owner(mutex, 0);
    lock_in(mutex).unlock();
    return 0;
  }
  static int lock(mutex_layout& mutex) {
    settle(mutex);
    if (const auto known = relock(mutex, EDEADLK); known.is_held) return known.result;
    return lock_in(mutex).try_lock() ? acquired(mutex) : wait_for(mutex);
  }
  static int trylock(mutex_layout& mutex) {
    settle(mutex);
    if (const auto known = relock(mutex, EBUSY); known.is_held) return known.result;
    return lock_in(mutex).try_lock() ? acquired(mutex) : EBUSY;
  }
  static int clocklock(mutex_layout& mutex, clockid_t clock, const timespec* limit) {
    settle(mutex);
    if (const auto known = relock(mutex, EDEADLK); known.is_held) return known.result;
    if (lock_in(mutex).try_lock()) return acquired(mutex);
    if (!is_valid(limit)) return EINVAL;
    const bool is_locked =
        with_time_point(clock, *limit, [&](auto point) { return wait_until(mutex, point); });
    return is_locked ? acquired(mutex) : ETIMEDOUT;
  }
  static int unlock(mutex_layout& mutex) {
    settle(mutex);
    if (checks_owner(type_of(mutex.kind)) && !is_mine(mutex)) return EPERM;
    if (type_of(mutex.kind) == PTHREAD_MUTEX_RECURSIVE && --mutex.users != 0) return 0;
    if (checks_owner(type_of(mutex.kind))) set_owner(mutex, 0);
    return unlock_normal(mutex);
  }
  /// As glibc does: a mutex in use is refused, and a destroyed mutex has no kind.
  static int destroy(mutex_layout& mutex) {
    settle(mutex);
    if (!lock_in(mutex).try_lock()) return EBUSY;
    mutex.kind = -1;
    return 0;
  }

  /// Records the acquisition.
  static int acquired(mutex_layout& mutex) {
    set_owner(mutex, thread_id());
    if (type_of(mutex.kind) == PTHREAD_MUTEX_RECURSIVE) mutex.users = 1;
    return 0;
  }

 private:
  struct relocked {
    bool is_held;
    int result;
  };
  /// The answer to a thread that may hold the mutex already, if the mutex's type has one.
  static relocked relock(mutex_layout& mutex, int error_of_checked) {
    const int type = type_of(mutex.kind);
    if (!checks_owner(type) || !is_mine(mutex)) return {false, 0};
    if (type == PTHREAD_MUTEX_ERRORCHECK) return {true, error_of_checked};
    if (mutex.users + 1 == 0) return {true, EAGAIN};
    ++mutex.users;
    return {true, 0};
  }

  // A thread with the asynchronous cancel type may vanish anywhere, and must not while a queue has
  // a node on its stack. So its type is deferred while it waits.

  [[gnu::noinline]] static int wait_for(mutex_layout& mutex) {
    begin_wait(mutex);
    wait_publication::begin(&mutex);
    int type = PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    if (type == PTHREAD_CANCEL_DEFERRED) [[likely]] {
      lock_in(mutex).lock();
    } else {
      wait_in_slices(mutex, std::chrono::steady_clock::time_point::max(), type);
    }
    wait_publication::end();
    end_wait(mutex);
    return acquired(mutex);
  }
  template <class TimePoint>
  static bool wait_until(mutex_layout& mutex, TimePoint limit) {
    begin_wait(mutex);
    wait_publication::begin(&mutex);
    int type = PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    const bool is_locked = type == PTHREAD_CANCEL_DEFERRED ? lock_until(lock_in(mutex), limit)
                                                           : wait_in_slices(mutex, limit, type);
    wait_publication::end();
    end_wait(mutex);
    return is_locked;
  }
  /// Lets requests to cancel act between the slices, if they may.
  template <class TimePoint>
  static bool wait_in_slices(mutex_layout& mutex, TimePoint limit, int cancel_type) {
    constexpr std::chrono::milliseconds slice{10};
    for (;;) {
      const auto now = TimePoint::clock::now();
      const bool is_locked = lock_until(lock_in(mutex), limit - now < slice ? limit : now + slice);
      const bool ends = is_locked || TimePoint::clock::now() >= limit;
      pthread_setcanceltype(cancel_type, nullptr);
      if (ends) return is_locked;
      pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
    }
  }
};

}  // namespace lockyard::preload
