// SPDX-License-Identifier: Apache-2.0

// A program whose threads wait, each for something else, for tests of `lockyard hang`. It knows
// nothing of the library. Usage: blocked-threads SCENE; prints "tid NAME ID" for each thread, then
// "ready", and ends with its standard input.

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// External, so that the symbols have these names.
pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t read_table = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t ready_condition = PTHREAD_COND_INITIALIZER;
pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t start_line;
pthread_mutex_t inheriting;
pthread_mutex_t robust;
pthread_mutex_t twice = PTHREAD_MUTEX_INITIALIZER;
sem_t permits;
std::atomic<int> foreign{7};

namespace {

struct thread_of {
  std::string name;
  std::function<void()> body;
};

std::atomic<int> holding{0};

long own_id() {
  return syscall(SYS_gettid);
}

pthread_t start(std::string name, std::function<void()> body) {
  auto* const given = new thread_of{std::move(name), std::move(body)};
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* of) -> void* {
        auto* const self = static_cast<thread_of*>(of);
        pthread_setname_np(pthread_self(), self->name.c_str());
        std::printf("tid %s %ld\n", self->name.c_str(), own_id());
        std::fflush(stdout);
        self->body();
        return nullptr;
      },
      given);
  return thread;
}

void sleep_on() {
  for (;;) pause();
}
void wait_until_held(int count) {
  while (holding.load() < count) usleep(100);
}

/// Each thread takes its own mutex, then, when all have, the next one's.
void cycle(const std::vector<pthread_mutex_t*>& ring) {
  const int count = static_cast<int>(ring.size());
  for (int i = 0; i < count; ++i) {
    start("ring-" + std::to_string(i), [=] {
      pthread_mutex_lock(ring[static_cast<std::size_t>(i)]);
      ++holding;
      wait_until_held(count);
      pthread_mutex_lock(ring[static_cast<std::size_t>((i + 1) % count)]);
    });
  }
}

void timed_cycle() {
  const auto later = [](pthread_mutex_t* first, pthread_mutex_t* second, bool gives_up) {
    pthread_mutex_lock(first);
    ++holding;
    wait_until_held(2);
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3600;
    if (gives_up) {
      pthread_mutex_timedlock(second, &until);
    } else {
      pthread_mutex_lock(second);
    }
  };
  start("patient", [=] { later(&account, &journal, false); });
  start("impatient", [=] { later(&journal, &account, true); });
}

void kinds() {
  start("holder", [] {
    pthread_mutex_lock(&account);
    pthread_rwlock_wrlock(&table);
    pthread_mutex_lock(&inheriting);
    pthread_mutex_lock(&robust);
    ++holding;
    sleep_on();
  });
  start("reading", [] {
    pthread_rwlock_rdlock(&read_table);
    ++holding;
    sleep_on();
  });
  wait_until_held(2);
  start("mutex", [] { pthread_mutex_lock(&account); });
  start("timed", [] {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3600;
    pthread_mutex_timedlock(&account, &until);
  });
  start("reader", [] { pthread_rwlock_rdlock(&table); });
  start("writer", [] { pthread_rwlock_wrlock(&table); });
  start("writer2", [] { pthread_rwlock_wrlock(&read_table); });
  start("pi", [] { pthread_mutex_lock(&inheriting); });
  start("robust", [] { pthread_mutex_lock(&robust); });
  start("condition", [] {
    pthread_mutex_lock(&of_condition);
    pthread_cond_wait(&ready_condition, &of_condition);
  });
  start("semaphore", [] { sem_wait(&permits); });
  start("barrier", [] { pthread_barrier_wait(&start_line); });
  const pthread_t sleeper = start("sleeper", [] { sleep_on(); });
  start("joiner", [=] { pthread_join(sleeper, nullptr); });
  start("stdio", [] {
    flockfile(stderr);
    ++holding;
    sleep_on();
  });
  wait_until_held(3);
  start("printer", [] { flockfile(stderr); });
  start("foreign", [] { syscall(SYS_futex, &foreign, 128, 7, nullptr, nullptr, 0); });
}

void many() {
  pthread_mutex_lock(&account);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1U << 16U);
  for (int i = 0; i < 1000; ++i) {
    pthread_t thread;
    pthread_create(
        &thread, &small,
        [](void*) -> void* {
          ++holding;
          pthread_mutex_lock(&account);
          return nullptr;
        },
        nullptr);
  }
  wait_until_held(1000);
}

void prepare() {
  pthread_barrier_init(&start_line, nullptr, 3);
  sem_init(&permits, 0, 0);
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inheriting, &kind);
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &kind);
}

/// A thread that waits has its call in the kernel soon after; a test looks until it sees it.
bool run(std::string_view scene) {
  if (scene == "pair") {
    cycle({&account, &journal});
  } else if (scene == "triple") {
    cycle({&account, &journal, &index_lock});
  } else if (scene == "self") {
    start("self", [] {
      pthread_mutex_lock(&twice);
      pthread_mutex_lock(&twice);
    });
  } else if (scene == "timed") {
    timed_cycle();
  } else if (scene == "abandoned") {
    const pthread_t ended = start("leaver", [] { pthread_mutex_lock(&account); });
    pthread_join(ended, nullptr);
    start("heir", [] { pthread_mutex_lock(&account); });
  } else if (scene == "kinds") {
    kinds();
  } else if (scene == "many") {
    many();
  } else if (scene == "idle") {
    start("sleeper", [] { sleep_on(); });
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  std::printf("tid main %ld\n", own_id());
  prepare();
  if (count != 2 || !run(words[1])) {
    std::fputs("usage: blocked-threads pair|triple|self|timed|abandoned|kinds|many|idle\n", stderr);
    return 2;
  }
  usleep(50000);
  std::puts("ready");
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  std::_Exit(0);
}
