// SPDX-License-Identifier: Apache-2.0
#pragma once

// The client that all locks are checked in: threads that acquire, change two plain counters, and
// release. Other protocols have their own clients.

#include "explorer.hpp"
#include "world.hpp"

#include <lockyard/concepts.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <source_location>
#include <utility>

namespace lockyard::model {

/// A claim of the client; a failure is verdict::assertion.
inline void require(bool holds, const char* claim, here where = here::current()) {
  if (!holds) detail::now()->fail(verdict::assertion, claim, where);
}

/// What exclusion knows about its lock: whether its threads are interchangeable.
enum class symmetry : std::uint8_t {
  none,
  full,      ///< the lock does no more with addresses than ask whether two are equal
  of_names,  ///< and no more with slots, keys and ids of threads
};

struct client_size {
  unsigned threads = 2;
  unsigned acquisitions = 1;  ///< each thread's
  bool tries = false;         ///< the last thread uses try_lock, and may fail
  bool timed = false;         ///< the last thread uses try_lock_for, and may fail
  bool destroys = false;      ///< the last thread destroys the lock itself
  symmetry lock_has = symmetry::none;
};

template <class Lock>
class exclusion : public client {
 public:
  explicit exclusion(const client_size& size) : size_{size}, lock_{::new(place_) Lock} {}
  exclusion(const exclusion&) = delete;
  exclusion& operator=(const exclusion&) = delete;
  ~exclusion() override {
    if (lock_ != nullptr) lock_->~Lock();
  }

  [[nodiscard]] unsigned threads() const override { return size_.threads; }

  /// The last thread has a part of its own if it tries, or may give up.
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    if (size_.lock_has == symmetry::none) return index;
    return (size_.tries || size_.timed) && index + 1 == size_.threads ? 1 : 0;
  }
  [[nodiscard]] bool compares_names_only() const override {
    return size_.lock_has == symmetry::of_names;
  }

  void thread(unsigned index) override {
    const bool is_last_thread = index + 1 == size_.threads;
    for (unsigned i = 0; i < size_.acquisitions; ++i) {
      if (is_last_thread ? !acquire_as_last() : !acquire()) continue;
      first_.write(first_.read() + 1);
      second_.write(second_.read() + 1);
      const bool destroys = size_.destroys && first_.read() == size_.threads * size_.acquisitions;
      lock_->unlock();
      if (destroys) std::exchange(lock_, nullptr)->~Lock();
    }
  }

  void finish() override {
    require(first_.read() == second_.read(), "both counters agree");
    const unsigned all = size_.threads * size_.acquisitions;
    const unsigned least = size_.tries || size_.timed ? all - size_.acquisitions : all;
    require(first_.read() >= least && first_.read() <= all, "no update is lost");
  }

 private:
  bool acquire() {
    lock_->lock();
    return true;
  }

  bool acquire_as_last() {
    if constexpr (lockable<Lock>) {
      if (size_.tries) return lock_->try_lock();
    }
    if constexpr (timed_lockable<Lock>) {
      if (size_.timed) return lock_->try_lock_for(std::chrono::milliseconds{1});
    }
    return acquire();
  }

  client_size size_;
  /// Stays in place after the lock's end, so that a thread that still uses the lock finds it ended.
  alignas(Lock) std::byte place_[sizeof(Lock)];
  Lock* lock_;
  plain_data<unsigned> first_{0};
  plain_data<unsigned> second_{0};
};

template <class Lock>
client_maker exclusion_of(const client_size& size) {
  return [size] { return std::make_unique<exclusion<Lock>>(size); };
}

}  // namespace lockyard::model
