// SPDX-License-Identifier: Apache-2.0

// A program whose threads contend, each scene in a known way, for tests of `lockyard profile` and
// `lockyard guard`. It knows nothing of the library. Usage: contended-threads SCENE [COUNT].

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

// External, so that the symbols have these names.
pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready_condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spinning;
pthread_barrier_t start_line;
sem_t permits;
std::atomic<int> foreign{0};
std::atomic<int> turn{0};
bool is_ready = false;
int count = 20;

namespace {

using namespace std::chrono;

void await(int value) {
  while (turn.load() < value) usleep(100);
}

}  // namespace

// The functions that the profile must name are external and not inlined.
#define PLACE extern "C" __attribute__((noinline))

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

namespace {

/// Calls `hold` again and again; another thread calls `want` each time.
void alternate(void (*hold)(), void (*want)() = want_account) {
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

/// The holder computes, and another thread of the same processor is in its way.
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

}  // namespace

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
  usleep(20'000);
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
  usleep(20'000);
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

pthread_mutex_t* const ring_of[] = {&account, &journal, &index_lock};

/// Threads that each hold a mutex and want the next one's.
void cycle(int size) {
  static std::atomic<int> holding{0};
  std::vector<std::thread> all;
  for (int i = 0; i < size; ++i) {
    all.emplace_back([i, size] {
      pthread_mutex_lock(ring_of[i]);
      for (holding.fetch_add(1); holding.load() < size;) usleep(100);
      const int error = pthread_mutex_lock(ring_of[(i + 1) % size]);
      if (error != 0) std::printf("error %d\n", error);
      std::fflush(stdout);
      if (error == 0) pthread_mutex_unlock(ring_of[(i + 1) % size]);
      pthread_mutex_unlock(ring_of[i]);
    });
  }
  for (auto& each : all) each.join();
}

/// Two threads that hold a lock each, by `hold`, and want the other's, by `want`.
template <class A, class B>
void cross(A hold_and_want, B want_and_hold) {
  std::atomic<int> holding{0};
  const auto both = [&] {
    for (holding.fetch_add(1); holding.load() < 2;) usleep(100);
  };
  std::thread one{[&] { hold_and_want(both); }}, other{[&] { want_and_hold(both); }};
  one.join();
  other.join();
}
void lock_account_and_write(auto both) {
  pthread_mutex_lock(&account);
  both();
  pthread_rwlock_wrlock(&table);
}

/// Through an rwlock: its writer waits for a mutex whose owner wants to read.
void cycle_with_writer() {
  cross(
      [](auto both) {
        pthread_rwlock_wrlock(&table);
        both();
        pthread_mutex_lock(&account);
      },
      [](auto both) {
        pthread_mutex_lock(&account);
        both();
        pthread_rwlock_rdlock(&table);
      });
}

/// Through one of the readers of an rwlock, which waits for a mutex whose owner wants to write.
void cycle_with_reader() {
  std::thread innocent{[] {
    pthread_rwlock_rdlock(&table);
    pause();
  }};
  usleep(20'000);
  cross(
      [](auto both) {
        pthread_rwlock_rdlock(&table);
        both();
        pthread_mutex_lock(&account);
      },
      [](auto both) { lock_account_and_write(both); });
}

/// A reader that wants to write.
void upgrade() {
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_wrlock(&table);
}

/// A thread that is joined by the owner of the mutex that it wants.
void cycle_with_join() {
  pthread_mutex_lock(&account);
  std::thread other{[] {
    pthread_mutex_lock(&account);
    pthread_mutex_unlock(&account);
  }};
  other.join();
}

/// Readers and writers that wait for each other, and for a mutex, and never in a ring.
void read_and_write() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([i] {
      for (int k = 0; k < count; ++k) {
        i == 0 ? pthread_rwlock_wrlock(&table) : pthread_rwlock_rdlock(&table);
        pthread_mutex_lock(&account);
        std::thread short_lived{[] {
          pthread_mutex_lock(&journal);
          pthread_mutex_unlock(&journal);
        }};
        if (k % 16 == 0) sched_yield();
        short_lived.join();
        pthread_mutex_unlock(&account);
        pthread_rwlock_unlock(&table);
        if (i == 1 && pthread_rwlock_trywrlock(&table) == 0) pthread_rwlock_unlock(&table);
      }
    });
  }
  for (auto& each : all) each.join();
}

/// Many such cycles, each of threads and error-checking mutexes of its own.
void many_cycles(int size) {
  for (int round = 0; round < count; ++round) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    std::vector<pthread_mutex_t> locks(static_cast<std::size_t>(size));
    for (auto& each : locks) pthread_mutex_init(&each, &attributes);
    std::atomic<int> holding{0}, errors{0};
    std::vector<std::thread> all;
    for (int i = 0; i < size; ++i) {
      all.emplace_back([&, i] {
        auto& own = locks[static_cast<std::size_t>(i)];
        auto& other = locks[static_cast<std::size_t>((i + 1) % size)];
        pthread_mutex_lock(&own);
        for (holding.fetch_add(1); holding.load() < size;) sched_yield();
        if (pthread_mutex_lock(&other) == 0) {
          pthread_mutex_unlock(&other);
        } else {
          errors.fetch_add(1);
        }
        pthread_mutex_unlock(&own);
      });
    }
    for (auto& each : all) each.join();
    if (errors.load() != 1) std::printf("round %d: %d errors\n", round, errors.load());
    for (auto& each : locks) pthread_mutex_destroy(&each);
  }
}

void inverted() {
  std::thread one{[] {
    pthread_mutex_lock(&account);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&account);
  }};
  one.join();
  std::thread other{[] {
    pthread_mutex_lock(&journal);
    pthread_mutex_lock(&account);
    pthread_mutex_unlock(&account);
    pthread_mutex_unlock(&journal);
  }};
  other.join();
}

/// The same, but only ever under a third mutex.
void inverted_under_a_gate() {
  const auto both = [](pthread_mutex_t* first, pthread_mutex_t* second) {
    pthread_mutex_lock(&index_lock);
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    pthread_mutex_unlock(&index_lock);
  };
  std::thread{[&] { both(&account, &journal); }}.join();
  std::thread{[&] { both(&journal, &account); }}.join();
}

void inverted_by_one_thread() {
  for (auto* first : {&account, &journal}) {
    auto* const second = first == &account ? &journal : &account;
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
  }
}

/// Pairs of mutexes in the same memory, one after another, each pair in the other order.
void reused_memory() {
  alignas(pthread_mutex_t) static unsigned char memory[2][sizeof(pthread_mutex_t)];
  for (int i = 0; i < count; ++i) {
    std::thread{[i] {
      std::memset(memory, 0, sizeof memory);  // as a static initialiser, without a destruction
      auto* const first = reinterpret_cast<pthread_mutex_t*>(memory[i % 2]);
      auto* const second = reinterpret_cast<pthread_mutex_t*>(memory[1 - i % 2]);
      pthread_mutex_lock(first);
      pthread_mutex_lock(second);
      pthread_mutex_unlock(second);
      pthread_mutex_unlock(first);
    }}.join();
  }
}

/// A recursive mutex that is locked again below another one, by two threads.
void recursive() {
  static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  for (int i = 0; i < 2; ++i) {
    std::thread{[] {
      pthread_mutex_lock(&again);
      pthread_mutex_lock(&account);
      pthread_mutex_lock(&again);
      pthread_mutex_unlock(&again);
      pthread_mutex_unlock(&account);
      pthread_mutex_unlock(&again);
    }}.join();
  }
}

/// A handler of a fork unlocks in the child what the parent's thread has locked.
int forked_unlock() {
  pthread_atfork([] { pthread_mutex_lock(&account); }, [] { pthread_mutex_unlock(&account); },
                 [] { pthread_mutex_unlock(&account); });
  if (fork() == 0) {
    pthread_mutex_lock(&account);
    pthread_mutex_unlock(&account);
    _exit(0);
  }
  int status = 0;
  wait(&status);
  return WEXITSTATUS(status);
}

void timed_cycle() {
  static std::atomic<int> holding{0};
  const auto body = [](pthread_mutex_t* own, pthread_mutex_t* other) {
    pthread_mutex_lock(own);
    for (holding.fetch_add(1); holding.load() < 2;) usleep(100);
    timespec limit{};
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += 200'000'000;
    limit.tv_sec += limit.tv_nsec / 1'000'000'000;
    limit.tv_nsec %= 1'000'000'000;
    if (pthread_mutex_timedlock(other, &limit) == 0) pthread_mutex_unlock(other);
    pthread_mutex_unlock(own);
  };
  std::thread one{body, &account, &journal}, other{body, &journal, &account};
  one.join();
  other.join();
}

void wait_for_all() {
  pthread_barrier_init(&start_line, nullptr, 2);
  sem_init(&permits, 0, 0);
  pthread_spin_init(&spinning, 0);
  std::thread condition{wait_until_ready}, barrier{[] { pthread_barrier_wait(&start_line); }};
  std::thread semaphore{want_permit}, futex{[] { foreign.wait(0); }};
  make_ready();
  std::thread writer{change_table};
  await(1);
  std::thread reader{want_table};
  pthread_spin_lock(&spinning);
  std::thread spinner{want_spinlock};
  usleep(20'000);
  pthread_spin_unlock(&spinning);
  sem_post(&permits);
  foreign = 1;
  foreign.notify_one();
  pthread_barrier_wait(&start_line);
  for (auto* each : {&condition, &barrier, &semaphore, &futex, &writer, &reader, &spinner}) {
    each->join();
  }
}

}  // namespace

int main(int arguments, char** argument) {
  const std::string scene = arguments > 1 ? argument[1] : "";
  if (arguments > 2) count = std::atoi(argument[2]);
  if (scene == "asleep") {
    alternate(sleep_in_section);
  } else if (scene == "system_call") {
    alternate(read_in_section);
  } else if (scene == "long_section") {
    alternate(compute_in_section);
  } else if (scene == "writer") {
    alternate(change_table_slowly, read_table);
  } else if (scene == "regular") {
    together(2, [] {
      for (int i = 0; i < count; ++i) hold_and_compute();
    });
  } else if (scene == "preempted") {
    preempted();
  } else if (scene == "convoy") {
    together(4, [] {
      for (int i = 0; i < count; ++i) short_section();
    });
  } else if (scene == "ordered") {
    together(4, [] {
      for (int i = 0; i < count; ++i) take_in_order();
    });
  } else if (scene == "kinds") {
    wait_for_all();
  } else if (scene == "pair") {
    cycle(2);
  } else if (scene == "triple") {
    cycle(3);
  } else if (scene == "pairs") {
    many_cycles(2);
  } else if (scene == "triples") {
    many_cycles(3);
  } else if (scene == "cycle_with_writer") {
    cycle_with_writer();
  } else if (scene == "cycle_with_reader") {
    cycle_with_reader();
  } else if (scene == "cycle_with_join") {
    cycle_with_join();
  } else if (scene == "upgrade") {
    upgrade();
  } else if (scene == "read_and_write") {
    read_and_write();
  } else if (scene == "timed_cycle") {
    timed_cycle();
  } else if (scene == "inverted") {
    inverted();
  } else if (scene == "inverted_under_a_gate") {
    inverted_under_a_gate();
  } else if (scene == "inverted_by_one_thread") {
    inverted_by_one_thread();
  } else if (scene == "reused_memory") {
    reused_memory();
  } else if (scene == "recursive") {
    recursive();
  } else if (scene == "forked_unlock") {
    return forked_unlock();
  } else if (scene == "self") {
    pthread_mutex_lock(&account);
    pthread_mutex_lock(&account);
  } else if (scene == "stranger") {
    std::thread{[] { pthread_mutex_lock(&account); }}.join();
    pthread_mutex_unlock(&account);
  } else if (scene == "destroyed") {
    pthread_mutex_lock(&account);
    pthread_mutex_destroy(&account);
    pthread_mutex_unlock(&account);
  } else if (scene == "long_hold") {
    sleep_in_section();
  } else if (scene == "fork") {
    if (fork() == 0) {
      alternate(sleep_in_section);
      _exit(0);
    }
    int status = 0;
    wait(&status);
    return WEXITSTATUS(status);
  } else if (scene == "status") {
    std::fprintf(stderr, "own error\n");
    std::printf("own output\n");
    return 7;
  } else if (scene == "signal") {
    alternate(sleep_in_section);
    raise(SIGTERM);
  } else if (scene == "quick_exit") {
    alternate(sleep_in_section);
    _exit(9);
  } else if (scene == "many") {
    for (int i = 0; i < count; ++i) std::thread{want_permit_in_vain}.join();
  } else if (scene == "endless") {
    std::printf("ready\n");
    std::fflush(stdout);
    alternate(sleep_in_section);
  } else {
    std::fprintf(stderr, "no such scene: %s\n", scene.c_str());
    return 2;
  }
  return 0;
}
