// SPDX-License-Identifier: Apache-2.0
#pragma once

// A private pthread condition variable with two of the library's inside: condition_variable for
// waits with a swapped lockyard::mutex, and condition_variable_any for waits with any other mutex.
// A notification goes to both, and costs a load where no thread waits. So a program may use it with
// swapped and passed-through mutexes in turn.

#include "cancellation.hpp"
#include "mutexes.hpp"

#include <lockyard/detail/deadlines.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>

namespace lockyard::preload {

struct condition_of_mutex : condition_variable {
  using condition_variable::wait_once;
};
struct condition_of_any : condition_variable_any {
  using condition_variable_any::wait_once;
};
inline constexpr std::size_t place_of_any = 16;
static_assert(sizeof(condition_of_mutex) <= place_of_any);
static_assert(place_of_any + sizeof(condition_of_any) <= sizeof(condition_layout::state));

inline condition_of_mutex& own_in(pthread_cond_t* c) noexcept {
  return *reinterpret_cast<condition_of_mutex*>(layout_of(c).state.data());
}
inline condition_of_any& any_in(pthread_cond_t* c) noexcept {
  return *reinterpret_cast<condition_of_any*>(layout_of(c).state.data() + place_of_any);
}

/// A mutex as condition_variable_any takes it: a swapped one of any lock, or one of glibc's.
class any_mutex {
 public:
  any_mutex(pthread_mutex_t* mutex, bool is_swapped) noexcept
      : mutex_{mutex}, is_swapped_{is_swapped} {}
  void lock() noexcept {
    if (is_swapped_) return lock_in(layout_of(mutex_)).lock();
    result_ = real::mutex_lock(mutex_);
  }
  void unlock() noexcept {
    if (is_swapped_) return lock_in(layout_of(mutex_)).unlock();
    real::mutex_unlock(mutex_);
  }
  /// What glibc said about the last acquisition: a robust mutex's owner may have died.
  [[nodiscard]] int result() const noexcept { return result_; }

 private:
  pthread_mutex_t* mutex_;
  bool is_swapped_;
  int result_ = 0;
};

/// Waits once with a lock, until the limit if there is one; false if the limit ended the wait.
template <class Condition, class Lock, class Watch>
bool wait_once_until(Condition& condition, Lock& lock, Watch watch, clockid_t clock,
                     const timespec* limit) {
  if (limit == nullptr) return condition.wait_once(lock, watch);
  return with_time_point(clock, *limit, [&](auto point) {
    const detail::limit_by<default_world, typename decltype(point)::clock,
                           typename decltype(point)::duration>
        end{point};
    return condition.wait_once(lock, watch, end.deadline(end.left())) || end.left().count() != 0;
  });
}

class swapped_condition {
 public:
  /// Makes later waits use condition_variable_any, with every mutex.
  static void use_any() noexcept {
    // relaxed(atomicity): notifications go to both, so a wait may use either.
    uses_any_.store(true, std::memory_order_relaxed);
  }
  /// Waits; `limit` may be null. `is_swapped` says what the mutex is.
  static int wait(pthread_cond_t* c, pthread_mutex_t* m, bool is_swapped, clockid_t clock,
                  const timespec* limit) {
    if (limit != nullptr && !is_valid(limit)) return EINVAL;
    mutex_layout& mutex = layout_of(m);
    if (is_swapped) settle(mutex);
    const bool is_robust = !is_swapped && (mutex.kind & kind_bits::robust) != 0;
    if ((checks_owner(type_of(mutex.kind)) || is_robust) && !is_mine(mutex)) return EPERM;
    pthread_testcancel();
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    const std::uint32_t users = mutex.users;
    if (is_swapped) {
      begin_wait(mutex);
      set_owner(mutex, 0);
    }
    cancellable_wait::of_this_thread().forget();
    any_mutex lock{m, is_swapped};
    const bool in_time = is_shared(c)
                             ? wait_for_slice(c, lock, clock, limit)
                             : wait_privately(c, lock, mutex, is_swapped,
                                              state == PTHREAD_CANCEL_ENABLE, clock, limit);
    if (is_swapped) {
      end_wait(mutex);
      set_owner(mutex, thread_id());
      if (type_of(mutex.kind) == PTHREAD_MUTEX_RECURSIVE) mutex.users = users;
    }
    pthread_setcancelstate(state, nullptr);
    if (cancellable_wait::of_this_thread().was_cancelled()) pthread_testcancel();
    if (lock.result() != 0) return lock.result();
    return in_time ? 0 : ETIMEDOUT;
  }
  static void signal(pthread_cond_t* c) noexcept {
    own_in(c).notify_one();
    any_in(c).notify_one();
  }
  static void broadcast(pthread_cond_t* c) noexcept {
    own_in(c).notify_all();
    any_in(c).notify_all();
  }

 private:
  // Neither is inlined: the function that is cancelled must need no personality routine, because
  // the unwinder is the program's, and may be another than this library's.

  [[gnu::noinline]] static bool wait_privately(pthread_cond_t* c, any_mutex& lock,
                                               mutex_layout& mutex, bool is_swapped,
                                               bool may_be_cancelled, clockid_t clock,
                                               const timespec* limit) noexcept {
    const auto wait = [&](auto watch) {
      if constexpr (std::is_same_v<swapped_lock, lockyard::mutex>) {
        // relaxed(atomicity): as above.
        if (is_swapped && !uses_any_.load(std::memory_order_relaxed))
          return wait_once_until(own_in(c), lock_in(mutex), watch, clock, limit);
      }
      return wait_once_until(any_in(c), lock, watch, clock, limit);
    };
    if (!may_be_cancelled) return wait([](const auto& /*end*/) noexcept { return false; });
    return wait([](auto end) noexcept { return published_wait{end}; });
  }

  /// A process-shared condition variable is glibc's, because other processes wait there, and glibc
  /// cannot release a swapped mutex. So the wait is a short one with a mutex of this call, which
  /// may miss a notification and then ends spuriously.
  [[gnu::noinline]] static bool wait_for_slice(pthread_cond_t* c, any_mutex& lock, clockid_t clock,
                                               const timespec* limit) noexcept {
    constexpr long slice_ns = 10'000'000, second_ns = 1'000'000'000;
    timespec end{};
    clock_gettime(clock, &end);
    end.tv_nsec += slice_ns;
    if (end.tv_nsec >= second_ns)
      end = {.tv_sec = end.tv_sec + 1, .tv_nsec = end.tv_nsec - second_ns};
    const auto is_before = [](const timespec& a, const timespec& b) {
      return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
    };
    const bool is_last = limit != nullptr && !is_before(end, *limit);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    real::mutex_lock(&own);
    lock.unlock();
    const int how = real::condition_clockwait(c, &own, clock, is_last ? limit : &end);
    real::mutex_unlock(&own);
    lock.lock();
    return how != ETIMEDOUT || !is_last;
  }

  static inline constinit std::atomic<bool> uses_any_{false};
};

}  // namespace lockyard::preload
