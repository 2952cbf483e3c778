// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions that replace others for a module's code. The module is linked with --wrap=name for
// each, so its calls of `name` reach `__wrap_name`, and the checker's own calls do not
// (virtual/plain/wrapped.txt lists the names).

#include "places.hpp"
#include "program.hpp"
#include "unseen.hpp"

#include <pthread.h>

#include <cstddef>
#include <optional>

namespace lockyard::plain {

inline execution& now() {
  return *execution::current();
}

inline location_index word_of_system(const void* address, std::source_location where) {
  constexpr unsigned bytes = 4;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (worker::mine().memory.is_retired(at)) {
    now().fail(model::verdict::lifetime, "an object of the C library is used after its destruction",
               where);
  }
  const part found = worker::mine().memory.word_at(at, bytes, where);
  if (found.unit != bytes) {
    refuse("the system's word is a part of a larger atomic object",
           "give the system an object of its own", where);
  }
  found.check_written(now().newest_value(found.word), where);
  return found.word;
}

/// Gives the running thread the number of an error. Returns what a failed call returns.
inline int failed(int reason) {
  worker::mine().storage[now().self()].error = reason;
  return -1;
}

/// Returns the time limit of a wait, if it has one. The graph does not decide when the limit
/// passes, nor where a section is divided that waits.
inline std::optional<std::size_t> deadline_if(bool has_limit, bool waits_only = false) {
  if (now().is_undisturbed()) now().note_unordered();
  if (!has_limit) return std::nullopt;
  now().note_unordered();
  return now().new_deadline(model::passes::early, waits_only);
}

/// Makes the operations of its lifetime one step, or a part of the step that has begun before. The
/// step begins with the operation on the word that the thread has changed last.
class one_step {
 public:
  one_step() {
    if (begins_) now().undisturbed(true);
  }
  one_step(const one_step&) = delete;
  one_step& operator=(const one_step&) = delete;
  ~one_step() {
    if (begins_) now().undisturbed(false);
  }

 private:
  bool begins_ = !now().is_undisturbed();
};

/// Locks a mutex, which may be the beginning of another turn of a loop, and unlocks it. The caller
/// has noted its own caller. They return the status.
int lock_in_loop(pthread_mutex_t* mutex, const void* pc);
int unlock(pthread_mutex_t* mutex, std::source_location where);

/// A function of the module begins or ends: its frame, and the frame of what it calls to say so.
inline void enter_function(const void* frame, const void* callee, const void* pc) {
  worker::mine().memory.functions.enter(reinterpret_cast<std::uintptr_t>(frame),
                                        reinterpret_cast<std::uintptr_t>(callee),
                                        reinterpret_cast<std::uintptr_t>(pc));
}
inline void leave_function(const void* frame, std::source_location where) {
  worker::mine().memory.leave(reinterpret_cast<std::uintptr_t>(frame), where);
}

/// Ends an object of the C library, such as a mutex, by the library's function for that.
inline int end_of_system_object(const void* address, std::size_t size, std::source_location where) {
  if (!is_active()) return 0;
  worker::mine().loop().act();
  now().use(word_of_system(address, where), where);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  worker::mine().memory.retire(begin, begin + size, where);
  return 0;
}

/// Ends a lock, which no thread may hold then.
inline int end_of_system_lock(const void* address, std::size_t size, std::source_location where) {
  if (is_active() &&
      now().load(word_of_system(address, where), std::memory_order_relaxed, where) != 0) {
    now().fail(model::verdict::lifetime, "a lock is destroyed while a thread holds it", where);
  }
  return end_of_system_object(address, size, where);
}

}  // namespace lockyard::plain

#define LOCKYARD_PC __builtin_return_address(0)
#define LOCKYARD_HERE lockyard::plain::place_of(LOCKYARD_PC)
