// SPDX-License-Identifier: Apache-2.0

// How each class of stalls is brought about. Always positively: the hog, the sleep, the barging,
// the migration or the handler exists, and the wait consists of it.

#include "stage.hpp"

#include "../topology.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <csignal>

namespace lockyard::harness {

namespace {

/// The time that the machine needs to start a thread, and a scene needs to settle.
constexpr double settle_ns = 30e3;
/// A thread that has called may need this long to fall asleep.
constexpr double falls_asleep_ns = 150e3;
constexpr unsigned overtakings = 40;

/// The hog takes the holder's processor while the holder has the lock.
void hold_preempted(stage& on) {
  on.spinning.lock();
  on.is_held.set();
  on.see(on.has_called);
  on.hog.give();
  on.see(on.is_given);
  on.spinning.unlock();
}

/// The hog does so when the release has begun and is not done.
void hold_preempted_in_release(stage& on) {
  on.spinning.in_release = [&on] {
    if (pthread_equal(pthread_self(), on.holder) == 0) return;  // the waiter's call
    on.hog.give();
    on.see(on.is_given);
  };
  on.spinning.lock();
  on.is_held.set();
  on.see(on.has_called);
  on.spinning.unlock();
}

void hold_asleep(stage& on) {
  on.spinning.lock();
  on.is_held.set();
  on.see(on.has_called);
  const timespec nap{.tv_sec = 0, .tv_nsec = static_cast<long>(stage::length_ns)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
  on.spinning.unlock();
}
void wait_spinning(stage& on) {
  on.see(on.is_held);
  on.wait_for(on.spinning);
}

/// The hog takes the sleeping waiter's processor, and then the lock is released.
void release_to_nobody(stage& on, auto& lock, double until_waiting_ns) {
  lock.lock();
  on.is_held.set();
  on.see(on.has_called);
  stage::burn(until_waiting_ns);
  on.hog.give();
  on.see(on.is_taken);
  stage::burn(settle_ns);
  on.now.begin = clock::now();
  lock.unlock();
}
void release_to_sleeper(stage& on) {
  release_to_nobody(on, on.sleeping, falls_asleep_ns);
}
void release_to_preempted(stage& on) {
  release_to_nobody(on, on.spinning, settle_ns);
}
void wait_sleeping(stage& on) {
  on.see(on.is_held);
  on.wait_for(on.sleeping);
}

/// The releaser begins the wake-up, which then takes long.
void release_and_wake_later(stage& on) {
  on.slow_to_wake.in_wake = [&on] {
    if (pthread_equal(pthread_self(), on.holder) != 0) stage::burn(stage::length_ns);
  };
  on.slow_to_wake.lock();
  on.is_held.set();
  on.see(on.has_called);
  stage::burn(falls_asleep_ns);
  on.now.begin = clock::now();
  on.slow_to_wake.unlock();
}
void wait_sleeping_long(stage& on) {
  on.see(on.is_held);
  on.wait_for(on.slow_to_wake);
}

/// The waiter looks only after other threads have barged in often enough.
void overtake(stage& on) {
  on.spinning.lock();
  on.is_held.set();
  on.see(on.has_called);
  for (unsigned i = 0; i < overtakings; ++i) {
    stage::burn(stage::length_ns / overtakings);
    on.spinning.unlock();
    on.spinning.lock();
    // relaxed(hint): only the number counts.
    on.overtaken.fetch_add(1, std::memory_order_relaxed);
  }
  on.spinning.unlock();
}
void wait_overtaken(stage& on) {
  on.see(on.is_held);
  const pthread_t self = pthread_self();
  on.spinning.before_look = [&on, self] {
    if (pthread_equal(pthread_self(), self) == 0) return;
    const ticks limit = clock::now() + clock::from_ns(50e6);
    // relaxed(hint): as above.
    while (on.overtaken.load(std::memory_order_relaxed) < overtakings && clock::now() < limit) {
      detail::arch::pause();
    }
  };
  on.wait_for(on.spinning);
  on.spinning.before_look = [] {};
}

void allow(pid_t thread, int cpu, int other) {
  cpu_set_t both;
  CPU_ZERO(&both);
  CPU_SET(cpu, &both);
  CPU_SET(other, &both);
  sched_setaffinity(thread, sizeof both, &both);
}

/// The holder is moved to a processor that the hog has just taken. The mover takes the holder's
/// processor for that: a running thread would have to sleep before it can be moved.
void hold_moved(stage& on) {
  allow(0, on.holders_cpu, on.holders_cpu);
  on.sleeping.lock();
  on.is_held.set();
  on.see(on.has_called);
  stage::burn(falls_asleep_ns);
  on.hog.give();
  on.see(on.is_taken);
  on.mover.give();
  on.see(on.is_given);
  on.sleeping.unlock();
}
void wait_anywhere(stage& on) {
  on.see(on.is_held);
  allow(0, on.waiters_cpu, on.holders_cpu);
  on.wait_for(on.sleeping);
  allow(0, on.waiters_cpu, on.waiters_cpu);
}

stage* of_handler = nullptr;

/// Acts like an interrupt: takes the running thread's time without a switch.
void take_time(int /*signal*/) {
  of_handler->is_interrupted.set();
  stage::burn(stage::length_ns);
}

/// The holder watches the clock, as a noise thread does, and finds time missing.
void hold_watching(stage& on) {
  of_handler = &on;
  struct sigaction how {};
  how.sa_handler = &take_time;
  sigaction(SIGUSR1, &how, nullptr);
  on.spinning.lock();
  on.is_held.set();
  const ticks threshold = clock::from_ns(100e3);
  const ticks limit = clock::now() + clock::from_ns(50e6);
  for (ticks last = clock::now(); last < limit;) {
    const ticks seen = clock::now();
    if (seen - last > threshold) {
      if (!on.is_interrupted.is_set()) on.now.came_in_time = false;  // a gap of the machine itself
      on.trace.add_gap(on.holders_cpu, last, seen - last);
      break;
    }
    last = seen;
  }
  on.spinning.unlock();
}
void wait_and_interrupt(stage& on) {
  on.see(on.is_held);
  pthread_kill(on.holder, SIGUSR1);
  on.wait_for(on.spinning);
}

void hold_long(stage& on) {
  on.spinning.lock();
  on.is_held.set();
  on.see(on.has_called);
  stage::burn(stage::length_ns);
  on.spinning.unlock();
}

/// The lock is free, and the waiter runs without acquiring it: nothing in the trace says why.
void hold_briefly(stage& on) {
  on.spinning.lock();
  on.is_held.set();
  on.see(on.has_called);
  stage::burn(settle_ns);
  on.now.begin = clock::now();
  on.spinning.unlock();
}
void wait_absently(stage& on) {
  on.see(on.is_held);
  const pthread_t self = pthread_self();
  on.spinning.before_look = [self] {
    if (pthread_equal(pthread_self(), self) != 0) stage::burn(stage::length_ns);
  };
  on.wait_for(on.spinning);
  on.spinning.before_look = [] {};
}

}  // namespace

void move_holder(const stage& of) {
  allow(of.holder_id, of.waiters_cpu, of.waiters_cpu);
}

void stage::clear() noexcept {
  now = {};
  for (flag* each : {&is_held, &has_called, &is_taken, &is_given, &is_interrupted}) each->clear();
  // relaxed(locked): like the flags.
  overtaken.store(0, std::memory_order_relaxed);
}

void stage::see(const flag& that) noexcept {
  const ticks limit = clock::now() + clock::from_ns(50e6);
  while (!that.is_set()) {
    if (clock::now() > limit) {
      now.came_in_time = false;
      return;
    }
    detail::arch::pause();
  }
}

const std::vector<scene>& all_scenes() {
  using enum presence;
  static const std::vector<scene> scenes{
      {"holder_preempted", away, there, false, hold_preempted, wait_spinning},
      {"holder_preempted_in_release", away, there, false, hold_preempted_in_release, wait_spinning},
      {"holder_asleep", away, there, false, hold_asleep, wait_spinning},
      {"woken_late", any, away, true, release_to_sleeper, wait_sleeping},
      {"wakeup_in_flight", there, away, false, release_and_wake_later, wait_sleeping_long, true},
      {"woken_not_running", any, away, true, release_to_sleeper, wait_sleeping, true},
      {"waiter_not_running", any, away, true, release_to_preempted, wait_spinning},
      {"barging", there, there, false, overtake, wait_overtaken},
      {"migration", away, any, true, hold_moved, wait_anywhere, true},
      {"machine_gap", there, there, false, hold_watching, wait_and_interrupt},
      {"held_running", there, there, false, hold_long, wait_spinning},
      {"unexplained", any, there, false, hold_briefly, wait_absently}};
  return scenes;
}

}  // namespace lockyard::harness
