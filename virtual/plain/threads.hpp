// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads that a program creates: a file with main(), instead of a class with a client's
// threads. All threads of an execution exist from its beginning, so a thread that is created later
// waits for its creation. How many there are is found out: a search that meets one more begins
// again.

#include <model/execution.hpp>

#include <unwind.h>

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

namespace lockyard::plain {

/// What a thread runs, and with what.
struct routine {
  void* (*run)(void* argument);
  void* argument;
};

class program_threads {
 public:
  /// Called by the maker of the client.
  void begin(bool is_program);
  [[nodiscard]] bool is_program() const noexcept { return is_program_; }

  /// Runs a thread of the program: main(), or what is created with that number.
  void run(unsigned index, int (*main)(int, char**));
  /// Returns the number of the new thread.
  unsigned create(const routine& what, bool is_detached, std::source_location where);
  void* join(unsigned index, std::source_location where);
  void detach(unsigned index, std::source_location where);
  [[noreturn]] void exit(void* result, std::source_location where);
  /// Whether the thread's function has a result, for a thread that joins it.
  [[nodiscard]] bool has_result(unsigned index) const;
  /// How many threads there are so far.
  [[nodiscard]] std::size_t existing() const {
    return is_program_ ? existing_ : model::max_threads;
  }
  /// Whether there are threads besides main that have not been joined.
  [[nodiscard]] bool has_others() const { return others_ != 0; }
  /// Names the words below, for reports.
  [[nodiscard]] std::optional<std::string> name_of(std::uintptr_t address) const;

  /// Main, and the most that any execution so far has created.
  static inline unsigned count = 1;

 private:
  enum : std::uint64_t { waits = 0, runs = 1, is_not_created = 2, has_ended = 3, detached = 4 };
  static bool has_come_to_its_end(const void* /*none*/, std::uint64_t value) noexcept {
    return value == has_ended;
  }
  struct thread {
    model::location_index started;
    model::location_index ended;
    routine what;
    model::origin created;
    void* result;
    bool is_joinable;
    std::jmp_buf exit;
    const void* frame;              ///< where run() has its variables
    std::source_location exits_at;  ///< the call of pthread_exit()
    _Unwind_Exception unwinds;      ///< stands for it while the stack is unwound
  };

  static _Unwind_Reason_Code unwind(int version, _Unwind_Action actions,
                                    _Unwind_Exception_Class kind, _Unwind_Exception* object,
                                    _Unwind_Context* at, void* of);
  [[noreturn]] void leave();
  void end(unsigned index);
  /// Ends the claim to join a thread; it must be there.
  void take_claim(unsigned index, const char* otherwise, std::source_location where);
  model::location_index new_word(std::size_t number);

  bool is_program_ = false;
  unsigned existing_ = 1;
  unsigned others_ = 0;  ///< that have not been joined
  model::location_index created_ = 0;
  std::array<thread, model::max_threads> threads_{};
  std::array<std::uint32_t, 2 * model::max_threads + 1> places_{};  ///< the words' addresses
};

}  // namespace lockyard::plain
