// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory and mutexes that the worker processes of a search share.

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>

namespace lockyard::model {

/// Zeroes, which this process shares with those that it starts later. A page takes room once
/// something has been written to it.
class shared_memory {
 public:
  explicit shared_memory(std::size_t bytes)
      : bytes_{bytes},
        at_{mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0)} {
    if (at_ == MAP_FAILED) throw std::system_error{errno, std::generic_category(), "mmap"};
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  ~shared_memory() { munmap(at_, bytes_); }

  [[nodiscard]] void* at() const noexcept { return at_; }

 private:
  std::size_t bytes_;
  void* at_;
};

/// One object in shared memory.
template <class T>
class shared {
 public:
  shared() : object_{::new(memory_.at()) T} {}
  template <class Argument>
  explicit shared(Argument& argument) : object_{::new(memory_.at()) T{argument}} {}
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  ~shared() { object_->~T(); }

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }

 private:
  shared_memory memory_{sizeof(T)};
  T* object_;
};

/// Memory for containers of which several processes share all. It has the same address in each.
class shared_pool {
 public:
  explicit shared_pool(std::size_t bytes) : bytes_{bytes}, memory_{bytes} {}

  void* take(std::size_t bytes);
  /// Other pages take its place, but not at its address.
  void give_back(void* at, std::size_t bytes);

 private:
  std::size_t bytes_;
  shared_memory memory_;
  shared<std::atomic<std::size_t>> taken_;
};

template <class T>
struct shared_allocator {
  using value_type = T;

  shared_pool* pool;

  explicit shared_allocator(shared_pool& from) noexcept : pool{&from} {}
  template <class U>
  shared_allocator(const shared_allocator<U>& other) noexcept  // NOLINT(*-explicit-*): rebinding
      : pool{other.pool} {}

  T* allocate(std::size_t count) { return static_cast<T*>(pool->take(count * sizeof(T))); }
  void deallocate(T* at, std::size_t count) { pool->give_back(at, count * sizeof(T)); }
  friend bool operator==(const shared_allocator&, const shared_allocator&) = default;
};

/// A mutex of threads in several processes. If one ends while it holds the mutex, the others go on;
/// the first process sees that it has ended.
class process_mutex {
 public:
  process_mutex();
  process_mutex(const process_mutex&) = delete;
  process_mutex& operator=(const process_mutex&) = delete;
  ~process_mutex() { pthread_mutex_destroy(&mutex_); }

  void lock() {
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class process_condition;
  pthread_mutex_t mutex_;
};

class process_condition {
 public:
  process_condition();
  process_condition(const process_condition&) = delete;
  process_condition& operator=(const process_condition&) = delete;
  ~process_condition() { pthread_cond_destroy(&condition_); }

  void notify_all() { pthread_cond_broadcast(&condition_); }
  /// For a tenth of a second at most: a process that has ended notifies no other.
  void wait(process_mutex& held);

 private:
  pthread_cond_t condition_;
};

}  // namespace lockyard::model
