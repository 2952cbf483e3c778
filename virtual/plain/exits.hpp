// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a program runs after main(): the destructors of static objects, and the functions that were
// given to atexit().

#include <cstdint>
#include <vector>

namespace lockyard::plain {

class exit_calls {
 public:
  /// An execution begins, with the calls that static initialisation has asked for.
  void reset();
  /// Runs the calls, the last one first, in the running thread.
  void run();

  /// Asks for a call; `pc` is the place of the request.
  static void add(void (*run)(void*), void* argument, const void* pc);
  /// The destructors of static initialisation do not run: what they do could not be undone.
  static void forget_initial();

 private:
  struct call {
    void (*run)(void*);
    void* argument;
  };
  static std::vector<call>& initial();

  std::vector<call> calls_;
  /// Whether any execution so far has asked for a call.
  static inline bool may_grow_ = false;
};

/// Stands for the list of an execution; its value is the number of changes.
extern std::uint32_t list_of_exit_calls;

}  // namespace lockyard::plain
