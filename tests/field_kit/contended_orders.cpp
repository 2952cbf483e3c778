// SPDX-License-Identifier: Apache-2.0

// Threads of contended-threads that take mutexes in different orders, and other mistakes.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

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

/// Mutexes that come and go below another one, and then an inversion.
void inverted_after_many() {
  for (int i = 0; i < count; ++i) {
    pthread_mutex_lock(&index_lock);
    auto* const each = new pthread_mutex_t;
    pthread_mutex_init(each, nullptr);
    pthread_mutex_lock(each);
    pthread_mutex_unlock(each);
    pthread_mutex_destroy(each);
    delete each;
    // The next one is elsewhere.
    static char* kept[64];
    delete[] kept[i % 64];
    kept[i % 64] = new char[sizeof(pthread_mutex_t)];
    pthread_mutex_unlock(&index_lock);
  }
  inverted();
}

namespace {

/// Locks at the leaves of a tree with four branches, each of which is a call.
__attribute__((noinline)) void branch(int depth) {
  if (depth == 0) {
    pthread_mutex_lock(&account);
    pthread_mutex_unlock(&account);
    return;
  }
  branch(depth - 1);
  asm volatile("");
  branch(depth - 1);
  asm volatile("");
  branch(depth - 1);
  asm volatile("");
  branch(depth - 1);
  asm volatile("");
}

}  // namespace

void recursion() {
  branch(count);
}

void held_at_the_end() {
  std::thread{[] { pthread_mutex_lock(&account); }}.join();
}

/// By the destructor of the thread's data; and a robust mutex, whose next owner is told.
void unlocked_at_the_end() {
  pthread_key_t key;
  pthread_key_create(&key, [](void*) { pthread_mutex_unlock(&account); });
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  static pthread_mutex_t robust;
  pthread_mutex_init(&robust, &attributes);
  std::thread{[key] {
    pthread_mutex_lock(&account);
    pthread_mutex_lock(&robust);
    pthread_setspecific(key, &account);
  }}.join();
  if (pthread_mutex_lock(&robust) == EOWNERDEAD) pthread_mutex_consistent(&robust);
  pthread_mutex_unlock(&robust);
}

namespace {

constexpr int strict_turns = 1000;
int strict_turn = 0;

void* lock_strictly(void*) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  for (; strict_turn < strict_turns; ++strict_turn) {
    pthread_mutex_lock(&account);
    pthread_mutex_unlock(&account);
  }
  syscall(SYS_exit, 0);
  return nullptr;
}

}  // namespace

int confined() {
  pthread_t strict;
  pthread_create(&strict, nullptr, lock_strictly, nullptr);
  pthread_join(strict, nullptr);
  if (strict_turn != strict_turns) return 1;
  constexpr unsigned forbidden[] = {SYS_openat,     SYS_open,        SYS_fallocate, SYS_kill,
                                    SYS_readlinkat, SYS_sched_yield, SYS_tgkill,    SYS_unlinkat};
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned each : forbidden) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, each, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return 1;
  alternate(sleep_in_section);
  return 0;
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
