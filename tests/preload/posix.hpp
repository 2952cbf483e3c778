// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of POSIX semantics share. They state what the standard requires, and pass with
// glibc alone; the same programs then run with each preloaded library.

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <functional>
#include <utility>

namespace posix {

inline timespec now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time;
}
inline timespec after_ms(clockid_t clock, long ms) {
  timespec time = now(clock);
  time.tv_nsec += ms % 1000 * 1'000'000;
  time.tv_sec += ms / 1000 + time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}
inline constexpr timespec past{.tv_sec = 1, .tv_nsec = 0};
inline constexpr timespec long_past{.tv_sec = -1, .tv_nsec = 0};
inline constexpr timespec invalid{.tv_sec = 1, .tv_nsec = 1'000'000'000};

struct mutex_options {
  int type = PTHREAD_MUTEX_NORMAL;
  int robust = PTHREAD_MUTEX_STALLED;
  int shared = PTHREAD_PROCESS_PRIVATE;
  int protocol = PTHREAD_PRIO_NONE;
};
inline int init(pthread_mutex_t* mutex, mutex_options options) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, options.type);
  pthread_mutexattr_setrobust(&attributes, options.robust);
  pthread_mutexattr_setpshared(&attributes, options.shared);
  pthread_mutexattr_setprotocol(&attributes, options.protocol);
  const int error = pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return error;
}
inline int init(pthread_cond_t* condition, clockid_t clock, int shared = PTHREAD_PROCESS_PRIVATE) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, clock);
  pthread_condattr_setpshared(&attributes, shared);
  const int error = pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
  return error;
}

/// A thread that can be cancelled: std::thread ends the program then.
class thread {
 public:
  explicit thread(std::function<void()> body) : body_{std::move(body)} {
    pthread_create(&handle_, nullptr, run, this);
  }
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;
  ~thread() { join(); }

  [[nodiscard]] pthread_t handle() const { return handle_; }
  int cancel() { return pthread_cancel(handle_); }
  /// Returns whether the thread was cancelled.
  bool join() {
    if (!is_joined_) pthread_join(handle_, &result_);
    is_joined_ = true;
    return result_ == PTHREAD_CANCELED;
  }

 private:
  static void* run(void* self) {
    static_cast<thread*>(self)->body_();
    return nullptr;
  }

  std::function<void()> body_;
  pthread_t handle_{};
  void* result_ = nullptr;
  bool is_joined_ = false;
};

/// Returns what another thread's call gives.
template <class Call>
int elsewhere(Call call) {
  int result = -1;
  thread{[&] { result = call(); }}.join();
  return result;
}

}  // namespace posix
