// SPDX-License-Identifier: Apache-2.0

// A library for LD_PRELOAD that records which threads wait for which locks, how long, where, behind
// which other threads, and why; with LOCKYARD_GUARD it also is the guard. It changes no lock.

#include <linux/futex.h>
#include <sys/single_threaded.h>

#include "../forwarding.hpp"
#include "../start.hpp"
#include "mutexes.hpp"

namespace lockyard::preload {
namespace {

using namespace record;

/// Whether the mutex is free, or lets this thread in again.
bool lets_in(const mutex_layout& layout) {
  return word_of(layout) == 0 ||
         (checks_owner(type_of(layout.kind)) && owner_of(layout) == thread_id());
}

/// Whether the guard is on.
bool is_guarded() {
  return guarding != guard_mode::off;
}

/// Returns whether the mutex is a normal one, and the guard is off. One test of both is cheaper.
bool is_simple(const mutex_layout& layout) {
  return (layout.kind | static_cast<int>(guarding)) == PTHREAD_MUTEX_NORMAL;
}
static_assert(PTHREAD_MUTEX_NORMAL == 0 && static_cast<int>(guard_mode::off) == 0);

/// Does with a free normal mutex what glibc does; its call would cost as much as all else here.
/// glibc itself does less while the process has one thread. Returns whether the mutex was free.
bool take(mutex_layout& layout, std::int32_t self) {
  auto& word = *reinterpret_cast<std::int32_t*>(layout.state.data());
  std::int32_t free = 0;
  // order[mutex]: acquire; pairs [glibc's unlock]; the critical section before happens before this.
  // relaxed(atomicity): a failure has read nothing.
  if (!std::atomic_ref{word}.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                                     std::memory_order_relaxed)) {
    return false;
  }
  // relaxed(owner): a thread finds its own id only if the thread wrote it.
  __atomic_store_n(&layout.owner, self, __ATOMIC_RELAXED);
  ++layout.users;
  return true;
}

[[gnu::noinline]] int acquire(pthread_mutex_t* m, clockid_t clock, const timespec* limit,
                              const void* caller) {
  mutex_layout& layout = layout_of(m);
  int error;
  if (lets_in(layout)) {
    error = limit != nullptr ? real::mutex_clocklock(m, clock, limit) : real::mutex_lock(m);
    if (error == 0) acquired(m, caller);
  } else {
    error = wait_for_mutex(m, clock, limit, caller);
  }
  if (is_guarded() && error == 0) guard_acquired(m, caller, false);
  return error;
}

[[gnu::noinline]] int release(pthread_mutex_t* m, const void* caller) {
  const mutex_layout& layout = layout_of(m);
  const bool stays = stays_held(layout);
  if (is_contended(layout) && !stays) note_contended(m, caller);
  if (is_guarded()) guard_unlock(m, caller);
  const int error = real::mutex_unlock(m);
  if (state.attention == m && !stays) after_release(m);
  return error;
}

int wait_for_condition(pthread_cond_t* c, pthread_mutex_t* m, const void* caller, auto wait) {
  before_condition(m, caller);
  if (is_guarded()) guard_released(m);
  const int error = timed(c, object_kind::condition, caller, wait);
  acquired(m, caller);
  if (is_contended(layout_of(m))) state.attention = m;
  if (is_guarded()) guard_acquired(m, caller, true);
  return error;
}

/// Whether a thread waits for the condition: glibc counts waiters in the flags' word.
bool is_waited_for(pthread_cond_t* c) {
  return flags_of(c) >> 2 != 0;
}

void begin_child() {
  const auto parent = known_thread_id;
  forget_thread_id();
  forget_thread();
  const bool was_recording = file != nullptr;
  forget_file();
  forget_stacks();
  forget_guard(static_cast<u32>(parent));
  if (was_recording) open_file();
}

bool is_futex_wait(long number, long operation) {
  const long command = operation & FUTEX_CMD_MASK;
  return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ||
                                 command == FUTEX_LOCK_PI || command == 13 /* LOCK_PI2 */);
}
bool is_futex_wake(long number, long operation) {
  const long command = operation & FUTEX_CMD_MASK;
  return number == SYS_futex && (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET);
}

struct recording : forwarding {
  static int mutex_lock(pthread_mutex_t* m, const void* caller) {
    // The id is read first: no load behind the atomic operation starts before that ends.
    mutex_layout& layout = layout_of(m);
    const std::int32_t self = known_thread_id;
    if (!is_simple(layout) || self == 0 || __libc_single_threaded != 0 || !take(layout, self))
        [[unlikely]]
      return acquire(m, CLOCK_MONOTONIC, nullptr, caller);
    note_acquired(m, caller);
    return 0;
  }
  static int mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* limit,
                             const void* caller) {
    return acquire(m, clock, limit, caller);
  }
  static int mutex_trylock(pthread_mutex_t* m, const void* caller) {
    const int error = real::mutex_trylock(m);
    if (error == 0) {
      acquired(m, caller);
      if (is_guarded()) guard_acquired(m, caller, true);
    } else if (error == EBUSY) {
      add_failed_try(m, object_kind::mutex);
    }
    return error;
  }
  static int mutex_unlock(pthread_mutex_t* m, const void* caller) {
    // The mutex's word would tell that threads wait, too, but a processor that has just changed it
    // by an atomic operation reads it late.
    const mutex_layout& layout = layout_of(m);
    if (!is_simple(layout) || has_waiters(layout) || state.attention == m) [[unlikely]]
      return release(m, caller);
    return real::mutex_unlock(m);
  }
  [[gnu::always_inline]] static int mutex_destroy(pthread_mutex_t* m) {
    if (is_guarded()) guard_destroy(m, __builtin_return_address(0));
    return real::mutex_destroy(m);
  }

  static int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, const void* caller) {
    return wait_for_condition(c, m, caller, [=] { return real::condition_wait(c, m); });
  }
  static int condition_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                 const timespec* limit, const void* caller) {
    return wait_for_condition(c, m, caller,
                              [=] { return real::condition_clockwait(c, m, clock, limit); });
  }
  // The note comes first: a waiter may read it at once, and the condition may be gone afterwards.
  static int condition_signal(pthread_cond_t* c, const void* caller) {
    if (is_waited_for(c)) note_release_at(c, caller);
    return real::condition_signal(c);
  }
  static int condition_broadcast(pthread_cond_t* c, const void* caller) {
    if (is_waited_for(c)) note_release_at(c, caller);
    return real::condition_broadcast(c);
  }

  static void register_fork_handlers() {
    static constinit int is_done = 0;
    if (__atomic_exchange_n(&is_done, 1, __ATOMIC_RELAXED) == 0)
      pthread_atfork(nullptr, nullptr, begin_child);
  }
  static void prepare_for_confinement(confinement to) noexcept {
    reserve_for_confinement();
    if (to != confinement::strict) return;
    forget_thread();
    end_record();
  }
  /// Locks of other libraries wait in futex calls through syscall().
  static long system_call(long number, const long (&a)[6], const void* caller) {
    const auto call = [&] { return forwarding::system_call(number, a, caller); };
    if (number != SYS_futex) [[likely]]
      return call();
    const auto* const object = reinterpret_cast<const void*>(a[0]);
    if (is_futex_wait(number, a[1])) {
      return timed(object, object_kind::foreign_futex, caller, call);
    }
    if (is_futex_wake(number, a[1])) note_release_at(object, caller);
    return call();
  }
};

[[gnu::constructor]] void begin() {
  const char* const guard = std::getenv("LOCKYARD_GUARD");
  start(guard != nullptr ? "guard" : "profile");
  recording::register_fork_handlers();
  open_file();
  begin_guard();
}

[[gnu::destructor]] void end() {
  note_time();
}

}  // namespace

/// Destructors of the program's thread-local data may unlock what the thread still holds, so the
/// guard looks when most of them have run.
void record::end_of_thread(void* record) {
  constexpr int last_round = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local int round = 0;
  if (++round < last_round && holds_mutexes()) return postpone_end_of_thread(record);
  guard_end();
  give_record_back(record);
}

using backend = recording;

}  // namespace lockyard::preload

#include "../entry.hpp"
#include "other_entries.hpp"
