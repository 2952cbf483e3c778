// SPDX-License-Identifier: Apache-2.0
#pragma once

// The names that locks give their functions; another one is one more row (calls.hpp). The macros
// end where calls.hpp has used them.
//
// This header is compiled as part of the module (module.hpp).

#include <concepts>
#include <string_view>
#include <utility>

namespace lockyard::plain {

/// The functions that take a lock, and give it back.
#define LOCKYARD_OWNERS(ROW)            \
  ROW(lock, unlock)                     \
  ROW(Lock, Unlock)                     \
  ROW(acquire, release)                 \
  ROW(Acquire, Release)                 \
  ROW(enter, leave)                     \
  ROW(Enter, Leave)                     \
  ROW(enter, exit)                      \
  ROW(lock_exclusive, unlock_exclusive) \
  ROW(write_lock, write_unlock)         \
  ROW(lock_write, unlock_write)         \
  ROW(writeLock, writeUnlock)           \
  ROW(WriteLock, WriteUnlock)           \
  ROW(WriterLock, WriterUnlock)         \
  ROW(acquire_write, release_write)     \
  ROW(wrlock, wrunlock)                 \
  ROW(wrlock, unlock)
#define LOCKYARD_READERS(ROW)         \
  ROW(lock_shared, unlock_shared)     \
  ROW(LockShared, UnlockShared)       \
  ROW(acquire_shared, release_shared) \
  ROW(read_lock, read_unlock)         \
  ROW(lock_read, unlock_read)         \
  ROW(readLock, readUnlock)           \
  ROW(ReadLock, ReadUnlock)           \
  ROW(ReaderLock, ReaderUnlock)       \
  ROW(acquire_read, release_read)     \
  ROW(rdlock, rdunlock)               \
  ROW(rdlock, unlock)
/// Attempts, which return whether they have taken the lock.
#define LOCKYARD_ATTEMPTS(ROW) \
  ROW(try_lock)                \
  ROW(trylock)                 \
  ROW(tryLock)                 \
  ROW(TryLock)                 \
  ROW(try_acquire)             \
  ROW(tryAcquire)              \
  ROW(TryAcquire)              \
  ROW(try_enter)               \
  ROW(TryEnter)                \
  ROW(try_lock_exclusive)      \
  ROW(try_write_lock)          \
  ROW(write_trylock)           \
  ROW(try_lock_write)          \
  ROW(WriterTryLock)           \
  ROW(trywrlock)
#define LOCKYARD_ATTEMPTS_OF_READERS(ROW) \
  ROW(try_lock_shared)                    \
  ROW(TryLockShared)                      \
  ROW(try_acquire_shared)                 \
  ROW(try_read_lock)                      \
  ROW(read_trylock)                       \
  ROW(try_lock_read)                      \
  ROW(ReaderTryLock)                      \
  ROW(tryrdlock)

/// The type of the one argument of a member function; void for other functions.
template <class Function>
struct argument {
  using type = void;
};
template <class Result, class Lock, class Argument>
struct argument<Result (Lock::*)(Argument)> {
  using type = Argument;
};
template <class Result, class Lock, class Argument>
struct argument<Result (Lock::*)(Argument) noexcept> {
  using type = Argument;
};

/// Whether an attempt tells by this result that it has succeeded. A number may also be an error, as
/// in POSIX, so it counts only where the function has a name of the C++ library.
template <class Result>
constexpr bool tells_success(std::string_view name) {
  const bool is_usual = name == "try_lock" || name == "try_lock_shared";
  return std::same_as<Result, bool> || !std::integral<Result> || is_usual;
}

/// Functions by their names, which can be called where the lock has them.
#define LOCKYARD_PAIR(take, give)                                                           \
  struct take##_##give {                                                                    \
    template <class Lock, class... With>                                                    \
    static auto acquire(Lock& on,                                                           \
                        With&&... with) -> decltype(on.take(std::forward<With>(with)...)) { \
      return on.take(std::forward<With>(with)...);                                          \
    }                                                                                       \
    template <class Lock, class... With>                                                    \
    static auto release(Lock& on,                                                           \
                        With&&... with) -> decltype(on.give(std::forward<With>(with)...)) { \
      return on.give(std::forward<With>(with)...);                                          \
    }                                                                                       \
    template <class Lock>                                                                   \
    static auto argument_of() -> typename argument<decltype(&Lock::take)>::type;            \
  };
#define LOCKYARD_ATTEMPT(attempt)                                                               \
  struct attempt##_once {                                                                       \
    template <class Lock, class... With>                                                        \
    static auto call(Lock& on,                                                                  \
                     With&&... with) -> decltype(bool(on.attempt(std::forward<With>(with)...))) \
      requires(tells_success<decltype(on.attempt(std::forward<With>(with)...))>(#attempt))      \
    {                                                                                           \
      return bool(on.attempt(std::forward<With>(with)...));                                     \
    }                                                                                           \
  };
namespace named {
LOCKYARD_OWNERS(LOCKYARD_PAIR)
LOCKYARD_READERS(LOCKYARD_PAIR)
LOCKYARD_ATTEMPTS(LOCKYARD_ATTEMPT)
LOCKYARD_ATTEMPTS_OF_READERS(LOCKYARD_ATTEMPT)
}  // namespace named
#undef LOCKYARD_PAIR
#undef LOCKYARD_ATTEMPT

}  // namespace lockyard::plain
