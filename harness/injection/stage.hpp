// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads that inject a stall: the holder of a lock, its waiter, the hog that takes the
// processor away from one of them, and the mover that moves the holder to another processor. They
// have real-time priorities, so that the rest of the machine does not interfere.

#include "../clock.hpp"
#include "../tracing/recording.hpp"
#include "injected_lock.hpp"

#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/traced.hpp>

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace lockyard::harness {

/// The injected stall of one round.
struct injected {
  ticks begin = 0;
  ticks end = 0;
  const void* lock = nullptr;
  bool came_in_time = true;  ///< no thread had to give a step up
};

/// A semaphore that a thread without its own processor sleeps on.
class signal_to {
 public:
  signal_to() { sem_init(&of_, 0, 0); }
  signal_to(const signal_to&) = delete;
  signal_to& operator=(const signal_to&) = delete;
  ~signal_to() { sem_destroy(&of_); }
  void give() noexcept { sem_post(&of_); }
  void await() noexcept {
    while (sem_wait(&of_) != 0) {
    }
  }

 private:
  sem_t of_{};
};

/// A message from one thread to another, once per round.
class flag {
 public:
  void set() noexcept {
    // order[set]: release; pairs [is_set]; publishes what was done before.
    is_set_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_set() const noexcept {
    // order[is_set]: acquire; pairs [set]; sees what was done before.
    return is_set_.load(std::memory_order_acquire);
  }
  void clear() noexcept {
    // relaxed(locked): between two rounds, which semaphores order.
    is_set_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> is_set_{false};
};

/// What the threads of a scene share. Flags are cleared before each round.
struct stage {
  static constexpr double length_ns = 800e3;  ///< length of the injected stall

  explicit stage(recording& trace_of) : trace{trace_of} {}

  recording& trace;
  int holders_cpu = 0;
  int waiters_cpu = 0;
  traced<futex_mutex> sleeping;
  injected_lock<tracing> spinning;
  injected_sleeping_lock<tracing> slow_to_wake;
  injected now;
  pthread_t holder{};
  pid_t holder_id = 0;
  signal_to hog;
  signal_to mover;
  flag is_held;
  flag has_called;
  flag is_taken;        ///< the processor, by the hog
  flag is_given;        ///< the processor, back by the hog
  flag is_interrupted;  ///< by the handler
  std::atomic<unsigned> overtaken{0};

  void clear() noexcept;
  /// Spins until the flag is set; gives the round up after 50 ms.
  void see(const flag& that) noexcept;
  /// Keeps the processor busy.
  static void burn(double for_ns) noexcept { wait_busily(for_ns); }
  /// Makes the waiter acquire that lock; the injected stall is the wait.
  template <class Lock>
  void wait_for(Lock& lock) {
    const ticks called = clock::now();
    has_called.set();
    lock.lock();
    const ticks acquired = clock::now();
    lock.unlock();
    now.lock = &lock;
    if (now.begin == 0) now.begin = called;
    if (now.end == 0) now.end = acquired;
  }
};

/// Whether a thread was off its processor in an injected stall.
enum class presence : std::uint8_t { there, away, any };

struct scene {
  std::string_view name;  ///< the class of stalls
  presence holder;
  presence waiter;
  bool hogs_waiter;  ///< the hog takes the waiter's processor instead of the holder's
  std::function<void(stage&)> hold;
  std::function<void(stage&)> wait;
  bool needs_wakeups = false;  ///< the trace must record wake-ups to show the stall
};

/// Called by a thread that has just taken the holder's processor: from now on the holder may use
/// only the waiter's.
void move_holder(const stage& of);

const std::vector<scene>& all_scenes();

/// Runs the scene so many times, and writes the trace with the truth about it next to it
/// (`FILE.truth.jsonl`). Rounds that the machine disturbed are dropped. Returns a summary as JSON.
/// Throws condition_error.
std::string inject(std::string_view name, unsigned times, const std::string& file);

}  // namespace lockyard::harness
