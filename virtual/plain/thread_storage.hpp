// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <typeinfo>
#include <utility>
#include <vector>

namespace lockyard::plain {

/// A thread's thread_local variables, and what has to be done with them when the thread ends.
struct thread_storage {
  void* block = nullptr;  ///< a copy of the module's thread_local variables
  std::vector<std::pair<void (*)(void*), void*>> destructors;
  std::map<unsigned, void*> values;  ///< by pthread_key_t
  int error = 0;                     ///< errno
  const void* waits_with = nullptr;  ///< the mutex of its last wait on a condition variable
  unsigned blocks = 0;               ///< of __VERIFIER_atomic, one in another
  void* exceptions[2] = {};          ///< the C++ library's record of those that are handled
  const void* threw = nullptr;       ///< the place from which it has thrown the last one
  const std::type_info* threw_type = nullptr;  ///< of that one

  /// A call that the C++ library makes behind the destructors.
  struct end_call {
    void (*run)(void* first, void* second, const void* pc);
    void* first;
    void* second;
    const void* pc;  ///< the place of the request
  };
  std::vector<end_call> end_calls;

  void reset() {
    block = nullptr;
    destructors.clear();
    values.clear();
    error = 0;
    waits_with = nullptr;
    blocks = 0;
    exceptions[0] = exceptions[1] = nullptr;
    threw = nullptr;
    threw_type = nullptr;
    end_calls.clear();
  }
  /// Asks for a call in the running thread.
  static void at_end(const end_call& wanted);
  /// Runs the destructors of variables, and then these calls, the last one first.
  void end_variables();
  /// Runs them, and the destructors of values under keys.
  void end(const std::vector<void (*)(void*)>& keys);
};

/// Stands for the keys of all threads; its value means nothing.
extern std::uint32_t list_of_keys;

}  // namespace lockyard::plain
