// SPDX-License-Identifier: Apache-2.0

// The functions besides entry.hpp's that the recorder replaces: rwlocks, spinlocks, semaphores,
// barriers, pthread_once, joins, limits and dlclose. Included once, by profile.cpp.

#include <semaphore.h>
#include <sys/resource.h>

namespace lockyard::preload::record {

namespace next {
using rwlock = pthread_rwlock_t*;
using limit = const timespec*;
inline constinit next_function<int, rwlock> rdlock{"pthread_rwlock_rdlock"};
inline constinit next_function<int, rwlock> wrlock{"pthread_rwlock_wrlock"};
inline constinit next_function<int, rwlock, limit> timedrdlock{"pthread_rwlock_timedrdlock"};
inline constinit next_function<int, rwlock, limit> timedwrlock{"pthread_rwlock_timedwrlock"};
inline constinit next_function<int, rwlock, clockid_t, limit> clockrdlock{
    "pthread_rwlock_clockrdlock"};
inline constinit next_function<int, rwlock, clockid_t, limit> clockwrlock{
    "pthread_rwlock_clockwrlock"};
inline constinit next_function<int, rwlock> tryrdlock{"pthread_rwlock_tryrdlock"};
inline constinit next_function<int, rwlock> trywrlock{"pthread_rwlock_trywrlock"};
inline constinit next_function<int, rwlock> rwunlock{"pthread_rwlock_unlock"};
inline constinit next_function<int, pthread_t, void**> join{"pthread_join"};
inline constinit next_function<int, pthread_spinlock_t*> spin_lock{"pthread_spin_lock"};
inline constinit next_function<int, pthread_spinlock_t*> spin_trylock{"pthread_spin_trylock"};
inline constinit next_function<int, sem_t*> sem_wait{"sem_wait"};
inline constinit next_function<int, sem_t*, limit> sem_timedwait{"sem_timedwait"};
inline constinit next_function<int, sem_t*, clockid_t, limit> sem_clockwait{"sem_clockwait"};
inline constinit next_function<int, sem_t*> sem_post{"sem_post"};
inline constinit next_function<int, pthread_barrier_t*> barrier_wait{"pthread_barrier_wait"};
inline constinit next_function<int, pthread_once_t*, void (*)()> once{"pthread_once"};
inline constinit next_function<int, __rlimit_resource_t, const rlimit*> setrlimit{"setrlimit"};
inline constinit next_function<int, __rlimit_resource_t, const rlimit64*> setrlimit64{
    "setrlimit64"};
inline constinit next_function<int, pid_t, __rlimit_resource, const rlimit*, rlimit*> prlimit{
    "prlimit"};
inline constinit next_function<int, pid_t, __rlimit_resource, const rlimit64*, rlimit64*> prlimit64{
    "prlimit64"};
inline constinit next_function<int, thrd_t, int*> c11_join{"thrd_join"};
inline constinit next_function<int, void*> dlclose{"dlclose"};
}  // namespace next

/// The words of a pthread_rwlock_t that say whether a call will wait.
struct rwlock_layout {
  u32 readers;  ///< their number times 8, and two bits of the phase
  u32 writers;  ///< writers that wait
  u32 phase_word, writers_word, unused0, unused1;
  std::int32_t current_writer;
};

inline u32 peek(const u32& word) {
  // relaxed(hint): the object itself decides; a wrong value costs a record.
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
inline const rwlock_layout& layout_of(const pthread_rwlock_t* lock) {
  return *reinterpret_cast<const rwlock_layout*>(lock);
}
inline bool has_writer(const pthread_rwlock_t* lock) {
  return layout_of(lock).current_writer != 0 || peek(layout_of(lock).writers) != 0;
}
inline bool is_taken(const pthread_rwlock_t* lock) {
  return has_writer(lock) || peek(layout_of(lock).readers) >> 3 != 0;
}
inline bool is_empty(const sem_t* semaphore) {
  return peek(*reinterpret_cast<const u32*>(semaphore)) == 0;
}
inline bool has_waiters(const sem_t* semaphore) {
  return peek(reinterpret_cast<const u32*>(semaphore)[1]) != 0;
}

template <class Wait>
int wait_if(bool must, const void* object, object_kind kind, const void* caller, Wait wait) {
  if (!must) [[likely]]
    return wait();
  return timed(object, kind, caller, wait);
}

/// Waits for the rwlock, and looks at its writer; readers are unknown.
template <class LockUntil, class Lock>
[[gnu::noinline]] int wait_for_rwlock(pthread_rwlock_t* l, object_kind kind, const void* caller,
                                      LockUntil& lock_until, Lock& lock) {
  const auto writer = [l] {
    // relaxed(hint): a wrong value costs a cause.
    return __atomic_load_n(&layout_of(l).current_writer, __ATOMIC_RELAXED);
  };
  return timed(
      l, kind, caller,
      [&](wait_evidence& evidence) {
        if (guarding != guard_mode::off) {
          if (const int refused = guard_wait_for_other(caller, ticks())) return refused;
        }
        return wait_and_look(
            evidence, [&](auto until) { return lock_until(l, CLOCK_MONOTONIC, until); },
            [&] { return lock(l); }, writer, [] { return u32{0}; });
      },
      static_cast<u32>(writer()), false);
}

/// Tells the guard of an acquisition. Returns its result.
inline int taken(pthread_rwlock_t* l, const void* caller, int error) {
  if (guarding != guard_mode::off && error == 0) guard_took_rwlock(l, caller);
  return error;
}

/// Publishes the wait for the thread's end, so that the guard can follow it.
int guarded_join(pthread_t thread, const void* caller, auto join) {
  thread_block* const own = own_record();
  if (own == nullptr || thread == pthread_self()) return join();
  const u64 begin = ticks();
  begin_wait(*own, reinterpret_cast<void*>(thread), object_kind::join, caller, stack_from(caller),
             false, begin);
  int error = guard_wait_for_other(caller, begin);
  if (error == 0) error = join();
  end_wait(*own);
  return error;
}

}  // namespace lockyard::preload::record

#define LOCKYARD_RECORD ::lockyard::preload::record

LOCKYARD_ENTRY(int, pthread_rwlock_rdlock, pthread_rwlock_t* l) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER,
               !has_writer(l) ? next::rdlock(l)
                              : wait_for_rwlock(l, object_kind::reading, LOCKYARD_CALLER,
                                                next::clockrdlock, next::rdlock));
}
LOCKYARD_ENTRY(int, pthread_rwlock_wrlock, pthread_rwlock_t* l) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER,
               !is_taken(l) ? next::wrlock(l)
                            : wait_for_rwlock(l, object_kind::writing, LOCKYARD_CALLER,
                                              next::clockwrlock, next::wrlock));
}
LOCKYARD_ENTRY(int, pthread_rwlock_tryrdlock, pthread_rwlock_t* l) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER, next::tryrdlock(l));
}
LOCKYARD_ENTRY(int, pthread_rwlock_trywrlock, pthread_rwlock_t* l) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER, next::trywrlock(l));
}
LOCKYARD_ENTRY(int, pthread_rwlock_timedrdlock, pthread_rwlock_t* l, const timespec* t) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER,
               wait_if(has_writer(l), l, object_kind::reading, LOCKYARD_CALLER,
                       [=] { return next::timedrdlock(l, t); }));
}
LOCKYARD_ENTRY(int, pthread_rwlock_timedwrlock, pthread_rwlock_t* l, const timespec* t) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER,
               wait_if(is_taken(l), l, object_kind::writing, LOCKYARD_CALLER,
                       [=] { return next::timedwrlock(l, t); }));
}
LOCKYARD_ENTRY(int, pthread_rwlock_clockrdlock, pthread_rwlock_t* l, clockid_t c,
               const timespec* t) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER,
               wait_if(has_writer(l), l, object_kind::reading, LOCKYARD_CALLER,
                       [=] { return next::clockrdlock(l, c, t); }));
}
LOCKYARD_ENTRY(int, pthread_rwlock_clockwrlock, pthread_rwlock_t* l, clockid_t c,
               const timespec* t) {
  using namespace LOCKYARD_RECORD;
  return taken(l, LOCKYARD_CALLER,
               wait_if(is_taken(l), l, object_kind::writing, LOCKYARD_CALLER,
                       [=] { return next::clockwrlock(l, c, t); }));
}
// The note comes first, because the lock may be gone afterwards. Only a writer's unlock is noted:
// several readers leave, and the last of them is not told apart.
LOCKYARD_ENTRY(int, pthread_rwlock_unlock, pthread_rwlock_t* l) {
  using namespace LOCKYARD_RECORD;
  const auto& layout = layout_of(l);
  if (layout.current_writer == lockyard::preload::thread_id() &&
      (peek(layout.readers) >> 3 != 0 || peek(layout.writers) != 0)) {
    note_release_at(l, LOCKYARD_CALLER);
  }
  if (guarding != guard_mode::off) guard_gives_rwlock(l);
  return next::rwunlock(l);
}

LOCKYARD_ENTRY(int, pthread_join, pthread_t thread, void** result) {
  using namespace LOCKYARD_RECORD;
  if (guarding == guard_mode::off) [[likely]]
    return next::join(thread, result);
  return guarded_join(thread, LOCKYARD_CALLER, [=] { return next::join(thread, result); });
}
LOCKYARD_ENTRY(int, thrd_join, thrd_t thread, int* result) {
  using namespace LOCKYARD_RECORD;
  if (guarding == guard_mode::off) [[likely]]
    return next::c11_join(thread, result);
  const int error =
      guarded_join(thread, LOCKYARD_CALLER, [=] { return next::c11_join(thread, result); });
  return error == 0 ? thrd_success : thrd_error;
}

LOCKYARD_ENTRY(int, pthread_spin_lock, pthread_spinlock_t* l) {
  using namespace LOCKYARD_RECORD;
  if (next::spin_trylock(l) == 0) return 0;
  return timed(const_cast<const int*>(l), object_kind::spinlock, LOCKYARD_CALLER,
               [=] { return next::spin_lock(l); });
}

LOCKYARD_ENTRY(int, sem_wait, sem_t* s) {
  using namespace LOCKYARD_RECORD;
  return wait_if(is_empty(s), s, object_kind::semaphore, LOCKYARD_CALLER,
                 [=] { return next::sem_wait(s); });
}
LOCKYARD_ENTRY(int, sem_timedwait, sem_t* s, const timespec* t) {
  using namespace LOCKYARD_RECORD;
  return wait_if(is_empty(s), s, object_kind::semaphore, LOCKYARD_CALLER,
                 [=] { return next::sem_timedwait(s, t); });
}
LOCKYARD_ENTRY(int, sem_clockwait, sem_t* s, clockid_t c, const timespec* t) {
  using namespace LOCKYARD_RECORD;
  return wait_if(is_empty(s), s, object_kind::semaphore, LOCKYARD_CALLER,
                 [=] { return next::sem_clockwait(s, c, t); });
}
LOCKYARD_ENTRY(int, sem_post, sem_t* s) {
  using namespace LOCKYARD_RECORD;
  if (has_waiters(s)) note_release_at(s, LOCKYARD_CALLER);
  return next::sem_post(s);
}

LOCKYARD_ENTRY(int, pthread_barrier_wait, pthread_barrier_t* b) {
  using namespace LOCKYARD_RECORD;
  return timed(b, object_kind::barrier, LOCKYARD_CALLER, [=] { return next::barrier_wait(b); });
}

LOCKYARD_ENTRY(int, pthread_once, pthread_once_t* control, void (*initialise)()) {
  using namespace LOCKYARD_RECORD;
  constexpr u32 in_progress = 1, done = 2;
  const u32 now = peek(*reinterpret_cast<const u32*>(control));
  return wait_if((now & done) == 0 && (now & in_progress) != 0, control, object_kind::once,
                 LOCKYARD_CALLER, [=] { return next::once(control, initialise); });
}
LOCKYARD_ENTRY(void, call_once, once_flag* flag, void (*initialise)()) {
  lockyard_entry_pthread_once(reinterpret_cast<pthread_once_t*>(flag), initialise);
}

// Address space that a new limit would count is given back before the limit is set.
#define LOCKYARD_RECORD_LIMIT(name, type)                                      \
  LOCKYARD_ENTRY(int, name, __rlimit_resource_t resource, const type* limit) { \
    using namespace LOCKYARD_RECORD;                                           \
    if (resource == RLIMIT_AS && limit != nullptr) fit_into(limit->rlim_cur);  \
    return next::name(resource, limit);                                        \
  }
LOCKYARD_RECORD_LIMIT(setrlimit, rlimit)
LOCKYARD_RECORD_LIMIT(setrlimit64, rlimit64)
#undef LOCKYARD_RECORD_LIMIT
#define LOCKYARD_RECORD_LIMIT(name, type)                                                 \
  LOCKYARD_ENTRY(int, name, pid_t process, __rlimit_resource resource, const type* limit, \
                 type* before) {                                                          \
    using namespace LOCKYARD_RECORD;                                                      \
    const bool is_own = process == 0 || process == getpid();                              \
    if (is_own && resource == RLIMIT_AS && limit != nullptr) fit_into(limit->rlim_cur);   \
    return next::name(process, resource, limit, before);                                  \
  }
LOCKYARD_RECORD_LIMIT(prlimit, rlimit)
LOCKYARD_RECORD_LIMIT(prlimit64, rlimit64)
#undef LOCKYARD_RECORD_LIMIT

LOCKYARD_ENTRY(int, dlclose, void* handle) {
  const int error = LOCKYARD_RECORD::next::dlclose(handle);
  LOCKYARD_RECORD::forget_frames();
  return error;
}
