// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stops threads in the middle of a call, for long enough that other threads get far: at a random
// instruction, when a timer expires, or when a real-time thread takes the processor.

#include <lockyard/detail/sanitizer.hpp>
#include <lockyard/world/native.hpp>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

namespace lockyard::testing {

using random_numbers = std::minstd_rand;

inline random_numbers numbers_from(std::uint64_t seed) {
  return random_numbers{static_cast<random_numbers::result_type>(seed)};
}

/// Stops its thread within calls. Belongs to the thread that constructs it.
class interruption {
 public:
  struct bounds {
    std::chrono::microseconds nap;    ///< longest stop
    std::chrono::microseconds timer;  ///< latest expiry of the timer after the start of the call
    unsigned steps_in_8;              ///< how many of 8 stops are at an instruction, without timer
  };

  interruption(random_numbers& random, bounds within) : random_{random}, bounds_{within} {
    handle(SIGRTMIN, [](int, siginfo_t*, void*) { nap(); });
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN;
    event._sigev_un._tid = gettid();
    has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
#if defined(__x86_64__)
    handle(SIGTRAP, &after_instruction);
#endif
  }
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption() {
    if (has_timer_) timer_delete(timer_);
  }

  /// Calls `call`, and stops within the call most of the time.
  template <class Call>
  void within(Call call) {
    length_.tv_nsec = below(bounds_.nap);
    if (random_() % 8 == 0) return call();
    if (can_step && random_() % 8 < bounds_.steps_in_8) {
      // Up to 8, 16, ... 256 instructions: a short call is not passed by most of the time.
      steps_left_ = 1 + static_cast<int>(random_() % (8U << random_() % 6));
      trap_each_instruction();
      call();
      trap_no_more();
    } else {
      expire_after(1 + below(bounds_.timer));
      call();
      expire_after(0);
    }
  }

 private:
  static void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigaction(signal, &action, nullptr);
  }

  static void nap() {
    const int saved = errno;
    nanosleep(&length_, nullptr);
    errno = saved;
  }

  long below(std::chrono::nanoseconds longest) {
    return static_cast<long>(random_() % static_cast<unsigned long>(longest.count()));
  }

  void expire_after(long nanoseconds) {
    const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = nanoseconds}};
    if (has_timer_) timer_settime(timer_, 0, &once, nullptr);
  }

#if defined(__x86_64__)
  // While the trap flag is set the processor raises an exception after each instruction, which the
  // kernel turns into SIGTRAP.

  /// Not with ThreadSanitizer: a thread would stop in the sanitizer's code, holding its locks.
  static constexpr bool can_step = !lockyard::detail::sanitizer::under_tsan;
  static constexpr long long trap_flag = 0x100;

  static void after_instruction(int /*signal*/, siginfo_t* /*info*/, void* interrupted) {
    if (--steps_left_ > 0) return;
    static_cast<ucontext_t*>(interrupted)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    nap();
  }
  // Skips the red zone: the 128 bytes below the stack pointer may be in use.
  [[gnu::always_inline]] static void trap_each_instruction() {
    asm volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
                 :
                 : "i"(trap_flag)
                 : "memory", "cc");
  }
  [[gnu::always_inline]] static void trap_no_more() {
    asm volatile("lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
                 :
                 : "i"(~trap_flag)
                 : "memory", "cc");
  }
#else
  static constexpr bool can_step = false;
  static void trap_each_instruction() {}
  static void trap_no_more() {}
#endif

  // The handlers read these in the thread that they interrupt.
  static inline constinit thread_local timespec length_{};
  static inline constinit thread_local int steps_left_ = 0;

  random_numbers& random_;
  const bounds bounds_;
  timer_t timer_{};
  bool has_timer_ = false;
};

/// Takes a processor from the threads of the default policy, for up to 200 us at a time. Does
/// nothing where no real-time policy is permitted.
class preemptor {
 public:
  preemptor(std::uint64_t seed, const std::atomic<bool>& ends)
      : thread_{[seed, &ends] {
          const sched_param priority{.sched_priority = 20};
          if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) return;
          auto random = numbers_from(seed);
          while (!ends) {
            std::this_thread::sleep_for(std::chrono::microseconds{random() % 2000});
            const auto until = native::now() + std::chrono::microseconds{random() % 200};
            while (native::now() < until) native::pause();
          }
        }} {}

 private:
  std::jthread thread_;
};

}  // namespace lockyard::testing
