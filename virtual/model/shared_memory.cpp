// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace lockyard::model {

void* shared_pool::take(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  // relaxed(atomicity): each call has a part of its own, and tells others of it by other means.
  const std::size_t begin = taken_->fetch_add(rounded, std::memory_order_relaxed);
  if (begin + rounded > bytes_) throw std::bad_alloc{};
  return static_cast<std::byte*>(memory_.at()) + begin;
}

void shared_pool::give_back(void* at, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + bytes) / page * page;
  if (first < end) madvise(static_cast<std::byte*>(at) + (first - begin), end - first, MADV_REMOVE);
}

process_mutex::process_mutex() {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &how);
  pthread_mutexattr_destroy(&how);
}

process_condition::process_condition() {
  pthread_condattr_t how;
  pthread_condattr_init(&how);
  pthread_condattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
  pthread_cond_init(&condition_, &how);
  pthread_condattr_destroy(&how);
}

void process_condition::wait(process_mutex& held) {
  constexpr long tenth_ns = 100'000'000;
  constexpr long second_ns = 10 * tenth_ns;
  std::timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += tenth_ns;
  until.tv_sec += until.tv_nsec / second_ns;
  until.tv_nsec %= second_ns;
  if (pthread_cond_timedwait(&condition_, &held.mutex_, &until) == EOWNERDEAD)
    pthread_mutex_consistent(&held.mutex_);
}

}  // namespace lockyard::model
