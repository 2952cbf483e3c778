// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions that run on each thread's stack, and so which of its memory may be used. One for
// each worker of the search.

#include <model/execution.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace lockyard::plain {

class stacks {
 public:
  void reset() { all_ = {}; }

  /// A function of the running thread begins, whose code lies around `pc`. Its variables lie below
  /// `end`, and nothing lives below `bottom`.
  void enter(std::uintptr_t end, std::uintptr_t bottom, std::uintptr_t pc);
  /// The function's variables reach down to there.
  void reach(std::uintptr_t bottom);
  /// The function returns, and the functions that it has called have ended too.
  void leave(std::uintptr_t end);
  /// The end of the outermost function; 0 if there is none.
  [[nodiscard]] std::uintptr_t outermost() const;

  /// Whether a function has returned to whose variables the address belonged.
  [[nodiscard]] bool is_dead(model::thread_index owner, std::uintptr_t at) const {
    return at < all_[owner].dead_below;
  }
  /// Whether the running thread comes after the beginning of the function to which the address
  /// belongs. Then it is the same function in each order of steps: its end fails unless all uses
  /// of its variables happen before. False if the address may have belonged to another function
  /// that this one has called.
  [[nodiscard]] bool comes_after_beginning(model::thread_index owner, std::uintptr_t at) const;

  struct frame {
    std::uintptr_t pc;
    std::uintptr_t end;
  };
  /// Returns the frame in which the address lies, if a function is known to have one there.
  [[nodiscard]] std::optional<frame> frame_of(model::thread_index owner, std::uintptr_t at) const;

  /// Whether the address belongs to the thread's first function.
  [[nodiscard]] bool is_of_first(model::thread_index owner, std::uintptr_t at) const;

  /// The running thread has changed another one's stack, or has compared its own one with what it
  /// was before. Another order of the two has another result.
  void note_change_of(model::thread_index owner);
  void note_comparison();

 private:
  struct function {
    std::uintptr_t end;
    model::origin begun;
    std::uintptr_t pc = 0;
    std::uintptr_t callees_end = 0;  ///< the highest one
  };
  struct stack {
    std::vector<function> functions;  ///< the innermost one is the last
    std::uintptr_t dead_below = 0;
    bool is_changed = false;   ///< by another thread
    bool is_compared = false;  ///< by its owner
  };

  void drop_below(stack& mine, std::uintptr_t end);
  stack& mine();

  std::array<stack, model::max_threads> all_;
};

}  // namespace lockyard::plain
