// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a program runs after main(): the destructors of static objects, the functions that were
// given to atexit(), and those with the attribute destructor.

#include <link.h>

#include <cstdint>
#include <source_location>
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
  /// Adds a module's functions with the attribute destructor, which run last.
  static void add_last(const link_map& module);
  /// The destructors of static initialisation, and these functions, do not run: what they do could
  /// not be undone.
  static void forget_initial();

  /// Ends the program, as exit() does, while the other threads go on. Variables of the running
  /// thread's functions last.
  [[noreturn]] static void exit(const char* name, std::source_location where);
  /// The same without the calls, as _exit() does.
  [[noreturn]] static void exit_at_once(const char* name, std::source_location where);

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
