// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program's mutexes. The record of a mutex that changes at every acquisition lies in its own
// spare bytes, and only the owner writes them. A thread that finds the mutex free pays for nothing
// else.

#include "../glibc.hpp"
#include "guard.hpp"
#include "mark.hpp"
#include "waiting.hpp"

namespace lockyard::preload::record {

/// A hold is timed once in so many acquisitions; the interval of a thread doubles after each
/// `samples_an_interval` samples.
inline constexpr u32 first_interval = 16, longest_interval = 512, samples_an_interval = 32;
/// The gap after a timed hold is given up after so many acquisitions of other mutexes.
inline constexpr u32 most_gap_tries = 16;

/// The measurements of this thread that its next releases end.
struct thread_state {
  u32 until_sample = first_interval;
  u32 samples = 0;
  const void* attention = nullptr;  ///< a mutex whose release ends a sample or a wait's record
  const void* sampled = nullptr;
  const void* sampled_site = nullptr;
  u64 sampled_since = 0;
  u32 sampled_interruptions = 0;
  const void* gap_mutex = nullptr;  ///< the mutex of a sampled hold that has ended
  u64 gap_since = 0;
  u32 gap_interruptions = 0;
  u32 gap_tries = 0;
  const void* pending_mutex = nullptr;
  finished_wait pending{};
  wait_evidence evidence{0, 0};
  u64 wait_ns = 0;
  release_note previous{};  ///< by the owner before
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local thread_state state;

inline std::int32_t word_of(const mutex_layout& layout) {
  // relaxed(hint): the mutex itself decides; a wrong value costs a record.
  return __atomic_load_n(reinterpret_cast<const std::int32_t*>(layout.state.data()),
                         __ATOMIC_RELAXED);
}
inline std::int32_t owner_of(const mutex_layout& layout) {
  // relaxed(hint): as above; only a thread itself writes its own id.
  return __atomic_load_n(&layout.owner, __ATOMIC_RELAXED);
}

/// A recorded thread waits for the mutex: wait_for_mutex counts it here.
inline bool has_waiters(const mutex_layout& layout) {
  // relaxed(hint): a wrong value costs a record.
  return __atomic_load_n(&layout.number, __ATOMIC_RELAXED) != 0;
}
inline void count_waiter(mutex_layout& layout, u32 change) {
  // relaxed(hint): as above.
  __atomic_fetch_add(&layout.number, change, __ATOMIC_RELAXED);
}

/// Waiters are asleep, or were.
inline bool is_contended(const mutex_layout& layout) {
  return is_plain(layout.kind) && word_of(layout) == 2;
}

/// A recursive mutex that this unlock does not release.
inline bool stays_held(const mutex_layout& layout) {
  std::int32_t count;
  std::memcpy(&count, layout.state.data() + 4, sizeof count);
  return type_of(layout.kind) == PTHREAD_MUTEX_RECURSIVE && count > 1;
}

void begin_sample(const void* mutex, const void* site);

/// In a normal mutex glibc leaves the spins unused. There the owner keeps interruptions() of the
/// beginning of its hold, by which it knows at the end whether it lost its processor.
inline bool has_interruptions(const mutex_layout& layout) {
  return layout.kind == PTHREAD_MUTEX_NORMAL;
}

/// The calling thread has just acquired the mutex, which is plain.
inline void note_acquired(pthread_mutex_t* m, const void* site) {
  mutex_layout& layout = layout_of(m);
  // relaxed(owner): other threads read these for their records only.
  __atomic_store_n(&layout.count, layout.count + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&layout.site, site, __ATOMIC_RELAXED);
  if (has_interruptions(layout)) layout.spins = static_cast<std::int32_t>(interruptions());
  if (--state.until_sample == 0) [[unlikely]]
    begin_sample(m, site);
}
/// The calling thread has just acquired the mutex.
inline void acquired(pthread_mutex_t* m, const void* site) {
  if (is_plain(layout_of(m).kind)) [[likely]]
    note_acquired(m, site);
}

/// After a release: only the mutex's address is used, because it may be gone.
void after_release(const void* mutex);

/// Before the release of a contended mutex, after which a futex call follows anyway: the next owner
/// reads which place in the program it waited for.
void note_contended(pthread_mutex_t* m, const void* site);

/// Before a condition variable releases the mutex.
void before_condition(pthread_mutex_t* m, const void* site);

/// Waits for the mutex; `limit` may be null.
int wait_for_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* limit, const void* site);

/// After a fork, in the child.
void forget_thread();

}  // namespace lockyard::preload::record
