// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ways to wait for a round to begin. Each has the same four members:
// - rearm(round): called by the publisher when all workers have seen the round before and are about
//   to wait for this one;
// - publish(round): called by the publisher; begins the round;
// - enter(): called by each worker, once, before it waits;
// - wait(worker, round): called by each worker; returns when the round has begun.
// docs/studies/wakeup.md says what each of them stands for.

#include "../conditions.hpp"
#include "channels.hpp"

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/semaphore.hpp>

#include <sched.h>
#include <time.h>

#include <array>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <semaphore>

namespace lockyard::harness::ways {

using round_number = std::uint32_t;

/// The members that most ways leave empty.
struct plain_way {
  void rearm(round_number /*round*/) noexcept {}
  void enter() {}
};

/// The number of the last round that has begun, in its own cache line.
class alignas(detail::arch::interference_size) round_word {
 public:
  // order[begin]: release; pairs [begun, asleep]; publishes what comes with the round.
  void begin(round_number round) noexcept { now_.store(round, std::memory_order_release); }
  // order[begun]: acquire; pairs [begin]; the worker continues from there.
  [[nodiscard]] round_number begun() const noexcept { return now_.load(std::memory_order_acquire); }
  [[nodiscard]] std::atomic<round_number>& word() noexcept { return now_; }

 private:
  std::atomic<round_number> now_{0};
};

/// Looks at the word, calls Between, and looks again.
template <void (*Between)()>
class looking : public plain_way {
 public:
  explicit looking(unsigned /*workers*/) {}
  void publish(round_number round) noexcept { round_.begin(round); }
  void wait(unsigned /*worker*/, round_number round) noexcept {
    while (round_.begun() != round) Between();
  }

 private:
  round_word round_;
};

inline void nothing() {}
inline void pause() {
  detail::arch::pause();
}
inline void yield() {
  sched_yield();
}
template <long Microseconds>
void sleep_for() {
  constexpr timespec length{.tv_sec = 0, .tv_nsec = Microseconds * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

/// Sleeps between looks, with the finest timers that the kernel has.
template <long Microseconds>
class sleeping_finely : public looking<sleep_for<Microseconds>> {
 public:
  using looking<sleep_for<Microseconds>>::looking;
  void enter() { set_timer_slack(1); }
};

/// Sleeping at its lowest cost: a store and a wake.
class futex : public plain_way {
 public:
  explicit futex(unsigned /*workers*/) {}
  void publish(round_number round) noexcept {
    round_.begin(round);
    detail::os::futex_wake(&round_.word(), INT_MAX);
  }
  void wait(unsigned /*worker*/, round_number round) noexcept {
    for (round_number seen = 0; (seen = round_.begun()) != round;) {
      detail::os::futex_wait(&round_.word(), seen, nullptr);
    }
  }

 private:
  round_word round_;
};

template <class Count>
class counting : public plain_way {
 public:
  explicit counting(unsigned /*workers*/) {}
  void publish(round_number round) noexcept {
    round_.begin(round);
    count_.notify_all();
  }
  void wait(unsigned /*worker*/, round_number round) noexcept {
    count_.await([this, round]() noexcept { return round_.begun() == round; });
  }

 private:
  round_word round_;
  alignas(detail::arch::interference_size) Count count_;
};

/// Two events in turn, since the last round's must be reset before a worker waits for it again.
class manual_event : public plain_way {
 public:
  explicit manual_event(unsigned /*workers*/) {}
  void rearm(round_number round) noexcept { of(round + 1).reset(); }
  void publish(round_number round) noexcept { of(round).set(); }
  void wait(unsigned /*worker*/, round_number round) noexcept { of(round).wait(); }

 private:
  struct alignas(detail::arch::interference_size) place {
    manual_reset_event event;
  };
  manual_reset_event& of(round_number round) noexcept { return places_[round % 2].event; }
  std::array<place, 2> places_;
};

/// A gate for each worker, which lets one thread through at a time.
template <class Gate>
class gates : public plain_way {
 public:
  explicit gates(unsigned workers) : workers_{workers}, places_{new place[workers]} {}
  void publish(round_number /*round*/) {
    for (unsigned i = 0; i < workers_; ++i) places_[i].gate.open();
  }
  void wait(unsigned worker, round_number /*round*/) { places_[worker].gate.pass(); }

 private:
  struct alignas(detail::arch::interference_size) place {
    Gate gate;
  };
  unsigned workers_;
  std::unique_ptr<place[]> places_;
};

class auto_event_gate {
 public:
  void open() noexcept { event_.set(); }
  void pass() noexcept { event_.wait(); }

 private:
  auto_reset_event event_;
};

template <class Semaphore>
class semaphore_gate {
 public:
  void open() { semaphore_.release(); }
  void pass() { semaphore_.acquire(); }

 private:
  Semaphore semaphore_{0};
};

class atomic_wait : public plain_way {
 public:
  explicit atomic_wait(unsigned /*workers*/) {}
  void publish(round_number round) noexcept {
    round_.begin(round);
    round_.word().notify_all();
  }
  void wait(unsigned /*worker*/, round_number round) noexcept {
    for (round_number seen = 0; (seen = round_.begun()) != round;) {
      // order[asleep]: acquire; pairs [begin]; as [begun].
      round_.word().wait(seen, std::memory_order_acquire);
    }
  }

 private:
  round_word round_;
};

template <class Mutex, class Condition>
class conditional : public plain_way {
 public:
  explicit conditional(unsigned /*workers*/) {}
  void publish(round_number round) {
    {
      const std::lock_guard guard{mutex_};
      round_ = round;
    }
    changed_.notify_all();
  }
  void wait(unsigned /*worker*/, round_number round) {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [&] { return round_ == round; });
  }

 private:
  Mutex mutex_;
  Condition changed_;
  round_number round_ = 0;
};

}  // namespace lockyard::harness::ways
