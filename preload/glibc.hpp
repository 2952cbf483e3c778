// SPDX-License-Identifier: Apache-2.0
#pragma once

// What glibc keeps where in its objects, and glibc's own functions. Checked at run time against the
// C library of the program: start.hpp.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace lockyard::preload {

/// A pthread_mutex_t. glibc uses the last 16 bytes for robust mutexes only, and its initialisers,
/// static or not, set them to zero. A copy of an unlocked mutex copies them.
struct mutex_layout {
  std::array<std::uint8_t, 8> state;  ///< glibc's futex word and recursion count, or another lock
  std::int32_t owner;                 ///< the owner's thread id: the same in a swapped mutex
  std::uint32_t users;                ///< glibc's; in a swapped mutex the recursion count
  std::int32_t kind;                  ///< never changed: static initialisers put the type there
  std::int32_t spins;
  std::uint32_t number;  ///< free
  std::uint32_t count;   ///< free
  union {
    const void* site;     ///< free
    std::uint32_t forks;  ///< free
  };
};
static_assert(offsetof(mutex_layout, kind) == 16 && offsetof(mutex_layout, site) == 32);
static_assert(sizeof(mutex_layout) <= sizeof(pthread_mutex_t));

inline mutex_layout& layout_of(pthread_mutex_t* mutex) noexcept {
  return *reinterpret_cast<mutex_layout*>(mutex);
}

namespace kind_bits {
inline constexpr int type = 3;  ///< PTHREAD_MUTEX_NORMAL, _RECURSIVE, _ERRORCHECK, _ADAPTIVE_NP
inline constexpr int robust = 16, inheriting = 32, protecting = 64, shared = 128;
inline constexpr int elision = 256 | 512;
}  // namespace kind_bits

/// Returns whether the mutex is private to the process, and neither robust, priority-inheriting nor
/// priority-protecting. A destroyed mutex is not plain.
constexpr bool is_plain(int kind) noexcept {
  return (kind & ~(kind_bits::type | kind_bits::elision)) == 0;
}
constexpr int type_of(int kind) noexcept {
  return kind & kind_bits::type;
}
/// Returns whether only the owner can unlock a mutex of the type.
constexpr bool checks_owner(int type) noexcept {
  return type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
}

/// A pthread_cond_t that is private to the process: all bytes but the flags are free.
struct condition_layout {
  std::array<std::uint8_t, 24> state;
  /// The flags are in one of these words, in which one depends on the version: bit 0
  /// process-shared, bit 1 CLOCK_MONOTONIC.
  std::array<std::uint32_t, 6> words;
};
static_assert(sizeof(condition_layout) == sizeof(pthread_cond_t));

inline condition_layout& layout_of(pthread_cond_t* condition) noexcept {
  return *reinterpret_cast<condition_layout*>(condition);
}

/// A function of the next library in the search order that has it, which is found at the first
/// call: from glibc 2.34 on, dlsym takes no lock that a program could replace. That library is
/// glibc: the runtimes of sanitizers, which replace the same functions, have to come first. The
/// names that glibc exports besides, as __pthread_mutex_lock, would be found in such a runtime.
template <class Result, class... Arguments>
class next_function {
 public:
  using function = Result(Arguments...);

  /// `version` is the symbol's on x86-64, where pthread_cond_* has a second, older version.
  constexpr explicit next_function(const char* name, const char* version = nullptr) noexcept
      : name_{name}, version_{version} {}

  Result operator()(Arguments... arguments) { return get()(arguments...); }

  function* get() noexcept {
    // relaxed(atomicity): every thread finds the same function.
    function* found = found_.load(std::memory_order_relaxed);
    if (found != nullptr) [[likely]]
      return found;
    void* symbol = version_ != nullptr ? dlvsym(RTLD_NEXT, name_, version_) : nullptr;
    if (symbol == nullptr) symbol = dlsym(RTLD_NEXT, name_);
    found = reinterpret_cast<function*>(symbol);
    // relaxed(atomicity): as above.
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  const char* name_;
  const char* version_;
  std::atomic<function*> found_{nullptr};
};

/// glibc's own functions.
namespace real {

inline constexpr const char* condition_version = "GLIBC_2.3.2";
using mutex = pthread_mutex_t*;
using condition = pthread_cond_t*;
using limit = const timespec*;

inline constinit next_function<int, mutex, const pthread_mutexattr_t*> mutex_init{
    "pthread_mutex_init"};
inline constinit next_function<int, mutex> mutex_destroy{"pthread_mutex_destroy"};
inline constinit next_function<int, mutex> mutex_lock{"pthread_mutex_lock"};
inline constinit next_function<int, mutex> mutex_trylock{"pthread_mutex_trylock"};
inline constinit next_function<int, mutex> mutex_unlock{"pthread_mutex_unlock"};
inline constinit next_function<int, mutex, clockid_t, limit> mutex_clocklock{
    "pthread_mutex_clocklock"};

inline constinit next_function<int, condition, const pthread_condattr_t*> condition_init{
    "pthread_cond_init", condition_version};
inline constinit next_function<int, condition> condition_destroy{"pthread_cond_destroy",
                                                                 condition_version};
inline constinit next_function<int, condition, mutex> condition_wait{"pthread_cond_wait",
                                                                     condition_version};
inline constinit next_function<int, condition, mutex, clockid_t, limit> condition_clockwait{
    "pthread_cond_clockwait"};
inline constinit next_function<int, condition> condition_signal{"pthread_cond_signal",
                                                                condition_version};
inline constinit next_function<int, condition> condition_broadcast{"pthread_cond_broadcast",
                                                                   condition_version};
inline constinit next_function<int, pthread_t> thread_cancel{"pthread_cancel"};

using fork_handler = void (*)();
inline constinit next_function<int, fork_handler, fork_handler, fork_handler, void*>
    register_atfork{"__register_atfork"};
inline constinit next_function<long, long, long, long, long, long, long, long> syscall{"syscall"};
inline constinit next_function<int, int, long, long, long, long> prctl{"prctl"};

}  // namespace real

/// The calling thread's id in the system. The child of a fork must call forget_thread_id().
[[gnu::tls_model("initial-exec")]] inline constinit thread_local std::int32_t known_thread_id = 0;
/// glibc writes the id into a mutex that the thread locks. The system call would tell the same, but
/// a sandbox may end the program for it.
[[gnu::noinline, gnu::cold]] inline std::int32_t find_thread_id() noexcept {
  pthread_mutex_t probe = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  real::mutex_lock(&probe);
  known_thread_id = layout_of(&probe).owner;
  real::mutex_unlock(&probe);
  return known_thread_id;
}
inline std::int32_t thread_id() noexcept {
  return known_thread_id != 0 ? known_thread_id : find_thread_id();
}
inline void forget_thread_id() noexcept {
  known_thread_id = 0;
}

/// Returns the index of the word with the flags in condition_layout::words, or -1 where glibc keeps
/// them elsewhere.
inline int find_condition_flags() noexcept {
  constexpr std::uint32_t all_flags = 3;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_t condition{};
  real::condition_init(&condition, &attributes);
  pthread_condattr_destroy(&attributes);
  const condition_layout& layout = layout_of(&condition);
  for (const std::uint8_t each : layout.state) {
    if (each != 0) return -1;
  }
  int found = -1;
  for (std::size_t i = 0; i < layout.words.size(); ++i) {
    if (layout.words[i] == 0) continue;
    if (layout.words[i] != all_flags || found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

inline std::uint32_t flags_of(pthread_cond_t* condition) noexcept {
  static constinit std::atomic<int> index{-1};
  // relaxed(atomicity): every thread finds the same index.
  int known = index.load(std::memory_order_relaxed);
  if (known < 0) [[unlikely]] {
    known = find_condition_flags();
    if (known < 0) return 0;  // start.hpp ends the program
    // relaxed(atomicity): as above.
    index.store(known, std::memory_order_relaxed);
  }
  return layout_of(condition).words[static_cast<std::size_t>(known)];
}
inline bool is_shared(pthread_cond_t* condition) noexcept {
  return (flags_of(condition) & 1U) != 0;
}
inline clockid_t clock_of(pthread_cond_t* condition) noexcept {
  return (flags_of(condition) & 2U) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/// The times that glibc takes; it looks only when a thread has to wait.
inline bool is_valid(const timespec* limit) noexcept {
  return limit->tv_nsec >= 0 && limit->tv_nsec < 1'000'000'000;
}
inline bool is_supported(clockid_t clock) noexcept {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

}  // namespace lockyard::preload
