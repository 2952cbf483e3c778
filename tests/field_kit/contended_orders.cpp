// SPDX-License-Identifier: Apache-2.0

// Threads of contended-threads that take mutexes in different orders, and other mistakes.

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "contended_threads.hpp"

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
