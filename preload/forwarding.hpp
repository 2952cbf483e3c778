// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "confinement.hpp"
#include "glibc.hpp"

namespace lockyard::preload {

/// A backend that calls glibc. Others derive from it and hide the functions that they replace.
/// `caller` is the return address of the program's call.
struct forwarding {
  static int mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes,
                        const void* /*caller*/) {
    return real::mutex_init(m, attributes);
  }
  static int mutex_destroy(pthread_mutex_t* m) { return real::mutex_destroy(m); }
  static int mutex_lock(pthread_mutex_t* m, const void* /*caller*/) { return real::mutex_lock(m); }
  static int mutex_trylock(pthread_mutex_t* m, const void* /*caller*/) {
    return real::mutex_trylock(m);
  }
  static int mutex_unlock(pthread_mutex_t* m, const void* /*caller*/) {
    return real::mutex_unlock(m);
  }
  /// Also pthread_mutex_timedlock, which is the same by CLOCK_REALTIME. The clock is a supported
  /// one.
  static int mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* limit,
                             const void* /*caller*/) {
    return real::mutex_clocklock(m, clock, limit);
  }

  static int condition_init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
    return real::condition_init(c, attributes);
  }
  static int condition_destroy(pthread_cond_t* c) { return real::condition_destroy(c); }
  static int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, const void* /*caller*/) {
    return real::condition_wait(c, m);
  }
  /// Also pthread_cond_timedwait, which is the same by the condition variable's clock.
  static int condition_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                 const timespec* limit, const void* /*caller*/) {
    return real::condition_clockwait(c, m, clock, limit);
  }
  static int condition_signal(pthread_cond_t* c, const void* /*caller*/) {
    return real::condition_signal(c);
  }
  static int condition_broadcast(pthread_cond_t* c, const void* /*caller*/) {
    return real::condition_broadcast(c);
  }

  static int thread_cancel(pthread_t thread) { return real::thread_cancel(thread); }

  /// Registers the backend's own fork handlers at the first call. Calls may come before the
  /// constructor, and while another library holds the locks of its allocator.
  static void register_fork_handlers() {}
  /// The thread is about to confine itself, and perhaps all threads; afterwards the backend makes
  /// no system call.
  static void prepare_for_confinement(confinement /*to*/) noexcept {}
  static long system_call(long number, const long (&a)[6], const void* /*caller*/) {
    return real::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
};

}  // namespace lockyard::preload
