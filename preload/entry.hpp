// SPDX-License-Identifier: Apache-2.0

// The functions that take the place of glibc's in a preloaded library: pthread mutexes, condition
// variables and pthread_cancel, and the same of C11. Included once, by the source that defines
// `lockyard::preload::backend` before; README.md says what a backend is.
//
// glibc declares most of these functions as nothrow. A definition under that declaration would be
// noexcept, and a thread that is cancelled inside would end the program. So each has its own name
// here, and glibc's only for the linker. No entry allocates or prints, and all that an entry
// touches is ready before any constructor has run: other libraries lock before.

#include "confinement.hpp"
#include "glibc.hpp"

#include <threads.h>

#include <cstdarg>

#define LOCKYARD_ENTRY(type, name, ...)                                                         \
  extern "C" [[gnu::visibility("default")]] type lockyard_entry_##name(__VA_ARGS__) asm(#name); \
  extern "C" type lockyard_entry_##name(__VA_ARGS__)
#define LOCKYARD_CALLER __builtin_return_address(0)

namespace lockyard::preload {

// glibc's C11 objects are its pthread objects.
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
inline pthread_mutex_t* pthread_of(mtx_t* mutex) noexcept {
  return reinterpret_cast<pthread_mutex_t*>(mutex);
}
inline pthread_cond_t* pthread_of(cnd_t* condition) noexcept {
  return reinterpret_cast<pthread_cond_t*>(condition);
}
inline int c11_result(int error) noexcept {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

}  // namespace lockyard::preload

LOCKYARD_ENTRY(int, pthread_mutex_init, pthread_mutex_t* m, const pthread_mutexattr_t* attributes) {
  return lockyard::preload::backend::mutex_init(m, attributes, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_mutex_destroy, pthread_mutex_t* m) {
  return lockyard::preload::backend::mutex_destroy(m);
}
LOCKYARD_ENTRY(int, pthread_mutex_lock, pthread_mutex_t* m) {
  return lockyard::preload::backend::mutex_lock(m, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_mutex_trylock, pthread_mutex_t* m) {
  return lockyard::preload::backend::mutex_trylock(m, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_mutex_unlock, pthread_mutex_t* m) {
  return lockyard::preload::backend::mutex_unlock(m, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_mutex_timedlock, pthread_mutex_t* m, const timespec* limit) {
  return lockyard::preload::backend::mutex_clocklock(m, CLOCK_REALTIME, limit, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_mutex_clocklock, pthread_mutex_t* m, clockid_t clock,
               const timespec* limit) {
  if (!lockyard::preload::is_supported(clock)) return EINVAL;
  return lockyard::preload::backend::mutex_clocklock(m, clock, limit, LOCKYARD_CALLER);
}

LOCKYARD_ENTRY(int, pthread_cond_init, pthread_cond_t* c, const pthread_condattr_t* attributes) {
  return lockyard::preload::backend::condition_init(c, attributes);
}
LOCKYARD_ENTRY(int, pthread_cond_destroy, pthread_cond_t* c) {
  return lockyard::preload::backend::condition_destroy(c);
}
LOCKYARD_ENTRY(int, pthread_cond_wait, pthread_cond_t* c, pthread_mutex_t* m) {
  return lockyard::preload::backend::condition_wait(c, m, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_cond_timedwait, pthread_cond_t* c, pthread_mutex_t* m,
               const timespec* limit) {
  return lockyard::preload::backend::condition_clockwait(c, m, lockyard::preload::clock_of(c),
                                                         limit, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_cond_clockwait, pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
               const timespec* limit) {
  if (!lockyard::preload::is_supported(clock)) return EINVAL;
  return lockyard::preload::backend::condition_clockwait(c, m, clock, limit, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_cond_signal, pthread_cond_t* c) {
  return lockyard::preload::backend::condition_signal(c, LOCKYARD_CALLER);
}
LOCKYARD_ENTRY(int, pthread_cond_broadcast, pthread_cond_t* c) {
  return lockyard::preload::backend::condition_broadcast(c, LOCKYARD_CALLER);
}

LOCKYARD_ENTRY(int, pthread_cancel, pthread_t thread) {
  return lockyard::preload::backend::thread_cancel(thread);
}

// glibc's C11 functions call its own pthread functions past the dynamic linker.

LOCKYARD_ENTRY(int, mtx_init, mtx_t* m, int type) {
  const bool is_recursive = type == mtx_recursive || type == (mtx_timed | mtx_recursive);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes,
                            is_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = lockyard::preload::backend::mutex_init(lockyard::preload::pthread_of(m),
                                                           &attributes, LOCKYARD_CALLER);
  pthread_mutexattr_destroy(&attributes);
  return lockyard::preload::c11_result(error);
}
LOCKYARD_ENTRY(void, mtx_destroy, mtx_t* m) {
  lockyard::preload::backend::mutex_destroy(lockyard::preload::pthread_of(m));
}
LOCKYARD_ENTRY(int, mtx_lock, mtx_t* m) {
  return lockyard::preload::c11_result(
      lockyard::preload::backend::mutex_lock(lockyard::preload::pthread_of(m), LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, mtx_trylock, mtx_t* m) {
  return lockyard::preload::c11_result(
      lockyard::preload::backend::mutex_trylock(lockyard::preload::pthread_of(m), LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, mtx_timedlock, mtx_t* m, const timespec* limit) {
  return lockyard::preload::c11_result(lockyard::preload::backend::mutex_clocklock(
      lockyard::preload::pthread_of(m), CLOCK_REALTIME, limit, LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, mtx_unlock, mtx_t* m) {
  return lockyard::preload::c11_result(
      lockyard::preload::backend::mutex_unlock(lockyard::preload::pthread_of(m), LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, cnd_init, cnd_t* c) {
  return lockyard::preload::c11_result(
      lockyard::preload::backend::condition_init(lockyard::preload::pthread_of(c), nullptr));
}
LOCKYARD_ENTRY(void, cnd_destroy, cnd_t* c) {
  lockyard::preload::backend::condition_destroy(lockyard::preload::pthread_of(c));
}
LOCKYARD_ENTRY(int, cnd_wait, cnd_t* c, mtx_t* m) {
  return lockyard::preload::c11_result(lockyard::preload::backend::condition_wait(
      lockyard::preload::pthread_of(c), lockyard::preload::pthread_of(m), LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, cnd_timedwait, cnd_t* c, mtx_t* m, const timespec* limit) {
  return lockyard::preload::c11_result(lockyard::preload::backend::condition_clockwait(
      lockyard::preload::pthread_of(c), lockyard::preload::pthread_of(m), CLOCK_REALTIME, limit,
      LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, cnd_signal, cnd_t* c) {
  return lockyard::preload::c11_result(lockyard::preload::backend::condition_signal(
      lockyard::preload::pthread_of(c), LOCKYARD_CALLER));
}
LOCKYARD_ENTRY(int, cnd_broadcast, cnd_t* c) {
  return lockyard::preload::c11_result(lockyard::preload::backend::condition_broadcast(
      lockyard::preload::pthread_of(c), LOCKYARD_CALLER));
}

// glibc runs fork handlers in the order of their registration. The backend's come first, because
// another library's handler may lock in the child.

LOCKYARD_ENTRY(int, __register_atfork, void (*prepare)(), void (*in_parent)(), void (*in_child)(),
               void* owner) {
  lockyard::preload::backend::register_fork_handlers();
  return lockyard::preload::real::register_atfork(prepare, in_parent, in_child, owner);
}

// The calls by which a program confines itself: confinement.hpp.

LOCKYARD_ENTRY(int, prctl, int option, ...) {
  std::va_list given;
  va_start(given, option);
  long a[4];
  for (long& each : a) each = va_arg(given, long);
  va_end(given);
  lockyard::preload::note_confinement(lockyard::preload::confinement_by(SYS_prctl, option, a[0]),
                                      lockyard::preload::backend::prepare_for_confinement);
  return lockyard::preload::real::prctl(option, a[0], a[1], a[2], a[3]);
}
LOCKYARD_ENTRY(long, syscall, long number, ...) {
  std::va_list given;
  va_start(given, number);
  long a[6];
  for (long& each : a) each = va_arg(given, long);
  va_end(given);
  lockyard::preload::note_confinement(lockyard::preload::confinement_by(number, a[0], a[1]),
                                      lockyard::preload::backend::prepare_for_confinement);
  return lockyard::preload::backend::system_call(number, a, LOCKYARD_CALLER);
}
