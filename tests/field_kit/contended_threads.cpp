// SPDX-License-Identifier: Apache-2.0

// A program whose threads contend, each scene in a known way, for tests of `lockyard profile` and
// `lockyard guard`. It knows nothing of the library. Usage: contended-threads SCENE [COUNT].

#include "contended_threads.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<int> turn{0};
int count = 20;

namespace {

/// Registered before all constructors have run, so that glibc calls it first in a child.
void lock_in_child() {
  pthread_mutex_lock(&index_lock);
  pthread_mutex_unlock(&index_lock);
}
void register_handler() {
  pthread_atfork(nullptr, nullptr, lock_in_child);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const preinit)() = register_handler;

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
  } else if (scene == "cycle_with_c11_join") {
    cycle_with_c11_join();
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
    std::thread other{[] {
      pthread_mutex_lock(&account);
      turn = 1;
      await(2);
    }};
    await(1);
    pthread_mutex_unlock(&account);
    turn = 2;
    other.join();
  } else if (scene == "held_at_the_end") {
    held_at_the_end();
  } else if (scene == "unlocked_at_the_end") {
    unlocked_at_the_end();
  } else if (scene == "inverted_after_many") {
    inverted_after_many();
  } else if (scene == "recursion") {
    recursion();
  } else if (scene == "confined") {
    return confined();
  } else if (scene == "destroyed") {
    pthread_mutex_lock(&account);
    pthread_mutex_destroy(&account);
    pthread_mutex_unlock(&account);
  } else if (scene == "long_hold") {
    sleep_in_section();
  } else if (scene == "fork") {
    lock_in_child();  // and in the parent, so that a library may know the parent's thread
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
  } else if (scene == "limited") {
    const rlimit limit{200 << 20, 200 << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    alternate(sleep_in_section);
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
