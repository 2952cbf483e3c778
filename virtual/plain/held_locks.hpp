// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which locks of the C library the threads of an execution have taken: std::mutex and its relatives
// are made of them. The memory of a lock that a thread holds must not end ([thread.mutex.class]).

#include <model/execution.hpp>

#include <cstdint>
#include <map>
#include <source_location>
#include <string>

namespace lockyard::plain {

enum class lock_form : std::uint8_t { mutex, read_write };

/// The word of a mutex has its owner, and from here on how often the owner holds it.
constexpr std::uint64_t holds_once_more = 0x100;
/// The word of a read-write lock has the number of its readers, or from here on its writer.
constexpr std::uint64_t has_writer = 0x1'0000;

class held_locks {
 public:
  void reset() { all_.clear(); }
  /// The running thread has taken a lock by the call at `pc`.
  void note(const void* lock, lock_form form, model::location_index word, const void* pc);
  /// The code changes a word itself. If it is a lock's, the change may come between the thread that
  /// takes the lock and its release, which so has no place of its own.
  void note_other_change(std::uintptr_t at) const {
    if (all_.contains(at)) model::execution::current()->note_unordered();
  }
  /// Fails if the word at the address is a lock that a thread holds. All uses of memory that ends
  /// come before the end, so the newest value is the lock's in every order of steps.
  void check_free(std::uintptr_t at, const char* how, std::source_location where) const;
  /// Fails if the running thread, which ends, holds a lock of the C++ library. POSIX permits it.
  void check_end_of_thread() const;

 private:
  struct taken {
    lock_form form;
    model::location_index word;
    const void* pc;
  };
  /// The thread that holds the lock, if it is known.
  static std::string owner_of(lock_form form, std::uint64_t value);

  std::map<std::uintptr_t, taken> all_;
};

}  // namespace lockyard::plain
