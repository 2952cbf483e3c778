// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <peers/names.hpp>

#include <cerrno>
#include <new>

namespace lockyard::inline v0::peers {

/// A pthread mutex with one attribute set at run time, because static initialisers of the kinds are
/// not portable.
template <int (*Set)(pthread_mutexattr_t*, int), int Value>
class pthread_mutex {
 public:
  pthread_mutex() {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0 || Set(&attributes, Value) != 0 ||
        pthread_mutex_init(&mutex_, &attributes) != 0) {
      throw std::bad_alloc{};
    }
    pthread_mutexattr_destroy(&attributes);
  }
  pthread_mutex(const pthread_mutex&) = delete;
  pthread_mutex& operator=(const pthread_mutex&) = delete;
  ~pthread_mutex() { pthread_mutex_destroy(&mutex_); }

  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

template <int Type>
using pthread_mutex_of_type = pthread_mutex<pthread_mutexattr_settype, Type>;

class pthread_mutex_normal : public pthread_mutex_of_type<PTHREAD_MUTEX_NORMAL> {};
class pthread_mutex_adaptive : public pthread_mutex_of_type<PTHREAD_MUTEX_ADAPTIVE_NP> {};
class pthread_mutex_recursive : public pthread_mutex_of_type<PTHREAD_MUTEX_RECURSIVE> {};
class pthread_mutex_pi : public pthread_mutex<pthread_mutexattr_setprotocol, PTHREAD_PRIO_INHERIT> {
};
/// A lock whose owner has died is acquired like any other.
class pthread_mutex_robust
    : public pthread_mutex<pthread_mutexattr_setrobust, PTHREAD_MUTEX_ROBUST> {};

/// A pthread reader-writer lock of one kind, which is set at run time as above.
template <int Kind>
class pthread_rwlock {
 public:
  pthread_rwlock() {
    pthread_rwlockattr_t attributes;
    if (pthread_rwlockattr_init(&attributes) != 0 ||
        pthread_rwlockattr_setkind_np(&attributes, Kind) != 0 ||
        pthread_rwlock_init(&lock_, &attributes) != 0) {
      throw std::bad_alloc{};
    }
    pthread_rwlockattr_destroy(&attributes);
  }
  pthread_rwlock(const pthread_rwlock&) = delete;
  pthread_rwlock& operator=(const pthread_rwlock&) = delete;
  ~pthread_rwlock() { pthread_rwlock_destroy(&lock_); }

  void lock() noexcept { pthread_rwlock_wrlock(&lock_); }
  bool try_lock() noexcept { return pthread_rwlock_trywrlock(&lock_) == 0; }
  void unlock() noexcept { pthread_rwlock_unlock(&lock_); }

  void lock_shared() noexcept { pthread_rwlock_rdlock(&lock_); }
  bool try_lock_shared() noexcept { return pthread_rwlock_tryrdlock(&lock_) == 0; }
  void unlock_shared() noexcept { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

class pthread_rwlock_readers : public pthread_rwlock<PTHREAD_RWLOCK_PREFER_READER_NP> {};
/// The kind PREFER_WRITER_NP prefers readers, too, despite its name.
class pthread_rwlock_writers : public pthread_rwlock<PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP> {
};

class pthread_spinlock {
 public:
  pthread_spinlock() {
    if (pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE) != 0) throw std::bad_alloc{};
  }
  pthread_spinlock(const pthread_spinlock&) = delete;
  pthread_spinlock& operator=(const pthread_spinlock&) = delete;
  ~pthread_spinlock() { pthread_spin_destroy(&lock_); }

  void lock() noexcept { pthread_spin_lock(&lock_); }
  bool try_lock() noexcept { return pthread_spin_trylock(&lock_) == 0; }
  void unlock() noexcept { pthread_spin_unlock(&lock_); }

 private:
  pthread_spinlock_t lock_;
};

/// A sem_t of one unit, which the owner has while it holds the lock.
class posix_semaphore {
 public:
  posix_semaphore() {
    if (sem_init(&units_, 0, 1) != 0) throw std::bad_alloc{};
  }
  posix_semaphore(const posix_semaphore&) = delete;
  posix_semaphore& operator=(const posix_semaphore&) = delete;
  ~posix_semaphore() { sem_destroy(&units_); }

  void lock() noexcept {
    while (sem_wait(&units_) != 0 && errno == EINTR) {
    }
  }
  bool try_lock() noexcept { return sem_trywait(&units_) == 0; }
  void unlock() noexcept { sem_post(&units_); }

 private:
  sem_t units_;
};

}  // namespace lockyard::inline v0::peers
