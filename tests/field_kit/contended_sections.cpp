// SPDX-License-Identifier: Apache-2.0

// Critical sections of contended-threads, and threads that take turns in them.

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "contended_threads.hpp"

pthread_cond_t ready_condition = PTHREAD_COND_INITIALIZER;
pthread_spinlock_t spinning;
pthread_barrier_t start_line;
sem_t permits;
std::atomic<int> foreign{0};
bool is_ready = false;

PLACE void compute_for(long us) {
  timespec now{};
  const auto processor_us = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  };
  for (const long begin = processor_us(); processor_us() - begin < us;) {
  }
}
PLACE void sleep_in_section() {
  pthread_mutex_lock(&account);
  turn.fetch_add(1);
  usleep(5000);
  pthread_mutex_unlock(&account);
}
PLACE void read_in_section() {
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) std::abort();
  std::thread writer{[&] {
    usleep(5000);
    if (write(ends[1], "x", 1) != 1) std::abort();
  }};
  pthread_mutex_lock(&account);
  turn.fetch_add(1);
  if (read(ends[0], &byte, 1) != 1) std::abort();
  pthread_mutex_unlock(&account);
  writer.join();
  close(ends[0]);
  close(ends[1]);
}
PLACE void compute_in_section() {
  pthread_mutex_lock(&account);
  turn.fetch_add(1);
  compute_for(5000);
  pthread_mutex_unlock(&account);
}
PLACE void want_account() {
  pthread_mutex_lock(&account);
  compute_for(1);
  pthread_mutex_unlock(&account);
}
PLACE void change_table_slowly() {
  pthread_rwlock_wrlock(&table);
  turn.fetch_add(1);
  compute_for(5000);
  pthread_rwlock_unlock(&table);
}
PLACE void read_table() {
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_unlock(&table);
}
PLACE void hold_and_compute() {
  pthread_mutex_lock(&account);
  compute_for(20);
  pthread_mutex_unlock(&account);
  compute_for(60);
}

void alternate(void (*hold)(), void (*want)()) {
  std::thread other{[want] {
    for (int i = 1; i <= count; ++i) {
      await(i);
      want();
      turn.fetch_add(1'000'000);
      while (turn.load() >= 1'000'000) usleep(100);
    }
  }};
  for (int i = 1; i <= count; ++i) {
    hold();
    while (turn.load() < 1'000'000) usleep(100);
    turn.fetch_sub(1'000'000);
  }
  other.join();
}

void preempted() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> hogs;
  for (int i = 0; i < 4; ++i) {
    hogs.emplace_back([&] {
      sched_setaffinity(0, sizeof one, &one);
      while (!is_over.load(std::memory_order_relaxed)) {
      }
    });
  }
  std::thread other{[] {
    for (int i = 1; i <= count; ++i) {
      await(i);
      want_account();
      turn.fetch_add(1'000'000);
      while (turn.load() >= 1'000'000) usleep(100);
    }
  }};
  std::thread holder{[&] {
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 1; i <= count; ++i) {
      compute_in_section();
      while (turn.load() < 1'000'000) usleep(100);
      turn.fetch_sub(1'000'000);
    }
  }};
  holder.join();
  other.join();
  is_over = true;
  for (auto& each : hogs) each.join();
}

void together(int threads, void (*body)()) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(body);
  for (auto& each : all) each.join();
}

PLACE void short_section() {
  pthread_mutex_lock(&account);
  compute_for(2);
  pthread_mutex_unlock(&account);
}
PLACE void take_in_order() {
  pthread_mutex_lock(&account);
  pthread_mutex_lock(&journal);
  pthread_mutex_lock(&index_lock);
  pthread_mutex_unlock(&index_lock);
  pthread_mutex_unlock(&journal);
  pthread_mutex_unlock(&account);
}
PLACE void wait_until_ready() {
  pthread_mutex_lock(&account);
  while (!is_ready) pthread_cond_wait(&ready_condition, &account);
  pthread_mutex_unlock(&account);
}
PLACE void make_ready() {
  pthread_mutex_lock(&account);
  is_ready = true;
  pthread_cond_signal(&ready_condition);
  pthread_mutex_unlock(&account);
}
PLACE void want_table() {
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_unlock(&table);
}
PLACE void change_table() {
  pthread_rwlock_wrlock(&table);
  turn = 1;
  await(2);
  pthread_rwlock_unlock(&table);
}
PLACE void want_permit() {
  sem_wait(&permits);
}
PLACE void want_permit_in_vain() {
  const timespec past{};
  sem_timedwait(&permits, &past);
}
PLACE void want_spinlock() {
  pthread_spin_lock(&spinning);
  pthread_spin_unlock(&spinning);
}

namespace {

/// A thread that is asked whether it waits, because on a busy machine a pause is too short.
class watched {
 public:
  explicit watched(void (*body)())
      : thread_{[this, body] {
          id_ = static_cast<int>(syscall(SYS_gettid));
          body();
        }} {}
  void join() { thread_.join(); }
  /// Waits until the thread is blocked in a futex call.
  void await_blocked() const {
    const std::string futex = std::to_string(SYS_futex) + ' ';
    for (std::string call; call != futex; usleep(1000)) {
      std::ifstream file{"/proc/self/task/" + std::to_string(id_) + "/syscall"};
      call.assign(futex.size(), ' ');
      file.read(call.data(), static_cast<std::streamsize>(call.size()));
    }
  }
  /// Waits until the thread has computed for a millisecond.
  void await_busy() {
    clockid_t clock{};
    pthread_getcpuclockid(thread_.native_handle(), &clock);
    for (timespec spent{}; spent.tv_sec == 0 && spent.tv_nsec < 1'000'000; usleep(1000)) {
      clock_gettime(clock, &spent);
    }
  }

 private:
  std::atomic<int> id_{0};
  std::thread thread_;
};

}  // namespace

void wait_for_all() {
  pthread_barrier_init(&start_line, nullptr, 2);
  sem_init(&permits, 0, 0);
  pthread_spin_init(&spinning, 0);
  watched condition{wait_until_ready}, barrier{[] { pthread_barrier_wait(&start_line); }};
  watched semaphore{want_permit}, futex{[] { foreign.wait(0); }};
  for (auto* each : {&condition, &barrier, &semaphore, &futex}) each->await_blocked();
  make_ready();
  watched writer{change_table};
  await(1);
  watched reader{want_table};
  reader.await_blocked();
  turn = 2;
  pthread_spin_lock(&spinning);
  watched spinner{want_spinlock};
  spinner.await_busy();
  pthread_spin_unlock(&spinning);
  sem_post(&permits);
  foreign = 1;
  foreign.notify_one();
  pthread_barrier_wait(&start_line);
  for (auto* each : {&condition, &barrier, &semaphore, &futex, &writer, &reader, &spinner}) {
    each->join();
  }
}
