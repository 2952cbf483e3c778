// SPDX-License-Identifier: Apache-2.0
#pragma once

// The acts that a thread performs at its very end.

#include <lockyard/detail/os/linux.hpp>

#include <pthread.h>

#include <cerrno>
#include <cstdlib>

namespace lockyard::inline v0::detail::os {

/// An act that a thread performs once, after the end of its thread_local objects.
class last_act {
 public:
  last_act() = default;
  last_act(const last_act&) = delete;
  last_act& operator=(const last_act&) = delete;

  /// Schedules this act for the end of the calling thread, after the acts scheduled before.
  void schedule() noexcept {
    auto* last = static_cast<last_act*>(pthread_getspecific(list()));
    if (last == nullptr) {
      const int error = pthread_setspecific(list(), this);
      if (error != 0) fatal("pthread_setspecific", error);
      return;
    }
    while (last->next_ != nullptr) last = last->next_;
    last->next_ = this;
  }

 protected:
  ~last_act() = default;

  /// Performs the act, and ends the lifetime of the object.
  virtual void perform() noexcept = 0;

 private:
  /// The C library destroys thread-specific data after the thread_local objects of C++, so the list
  /// of a thread's acts is thread-specific data. For the thread that ends the process the C library
  /// does not do so: its acts run in a function registered by std::atexit, which is after the end
  /// of its thread_local objects too.
  static pthread_key_t list() noexcept {
    static const pthread_key_t made = make_list();
    return made;
  }
  static pthread_key_t make_list() noexcept {
    pthread_key_t made{};
    if (const int error = pthread_key_create(&made, &perform_all)) {
      fatal("pthread_key_create", error);
    }
    const auto at_exit = [] {
      void* const first = pthread_getspecific(list());
      pthread_setspecific(list(), nullptr);
      perform_all(first);
    };
    if (std::atexit(at_exit) != 0) fatal("atexit", ENOMEM);
    return made;
  }

  static void perform_all(void* first) noexcept {
    for (auto* each = static_cast<last_act*>(first); each != nullptr;) {
      last_act* const next = each->next_;
      each->perform();
      each = next;
    }
  }

  last_act* next_ = nullptr;
};

}  // namespace lockyard::inline v0::detail::os
