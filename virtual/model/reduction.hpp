// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which orders of steps need no search of their own. Two steps of different threads are independent
// if both orders lead to the same execution graph. docs/checking.md has the rules and the argument.

#include "waits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockyard::model {

/// The operation that a thread performs when it runs next.
enum class upcoming : std::uint8_t {
  alone,   ///< independent of all that other threads do, before it and after it
  reads,   ///< depends on new messages of the word
  changes, ///< as reads, and on steps that look at the newest message of the word
  stores,  ///< depends on steps that look at the newest message of the word
  awaits,  ///< reads or changes one of the words of looks
  other,   ///< depends on each step that writes, sleeps or wakes
};

struct pending {
  upcoming does = upcoming::alone;
  location_index where = 0;
};

/// A thread whose next operation must come after something new: the executions in which it comes
/// before are searched elsewhere.
struct deferral {
  bool is_on = false;
  bool awaits = false;
  /// For each word that the operation reads, the number of messages that are not new.
  std::array<message_index, max_looks> known{};
};

/// What the search has learned about the client so far. Independence is a property of all that
/// threads may do later, so the search begins anew when it learns something.
struct conflicts {
  bool has_unordered = false;  ///< some step that no rule covers: nothing is reduced
  std::vector<std::uint64_t> newest;    ///< words, by their place in the source, whose newest message is looked at
  std::vector<std::uint64_t> sections;  ///< words that begin several operations in one step
};

}  // namespace lockyard::model
