// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which orders of steps need no search of their own. Two steps of different threads are independent
// if both orders lead to the same execution graph. reduction.cpp says how the search uses that.

#include "waits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockyard::model {

/// The steps of other threads on which a thread's next operation depends.
enum class upcoming : std::uint8_t {
  alone,        ///< on nothing, and nothing that other threads do depends on it
  reads,        ///< on new messages of the word
  changes,      ///< as reads, and on operations that look at the newest message of the word
  awaits,       ///< as reads or changes, of one of the words that an await looks at
  stores,       ///< on operations that look at the newest message of the word, if there are any
  other,        ///< on each step that writes, sleeps or wakes
  light_fence,  ///< on heavy fences
  heavy_fence,  ///< on light and heavy fences
};

struct pending {
  upcoming does = upcoming::alone;
  location_index where = 0;
};

/// A deferred thread: its next operation comes after something that the operation depends on.
/// Executions in which it comes before are searched elsewhere.
struct deferral {
  bool is_on = false;
  bool awaits = false;
  /// For each word that the operation reads, how many messages are not new.
  std::array<message_index, max_looks> known{};
};

/// The facts that the search has learned about the client. Independence needs knowledge of all that
/// threads will ever do, so the search begins anew when it has learned something. A word is known
/// by the place of its creation in the source.
struct conflicts {
  /// There are operations that no rule covers: heavy fences that may fail, words with priority
  /// inheritance, deadlines that threads share. Nothing is left out.
  bool has_unordered = false;
  bool has_unseen = false;           ///< the graph does not decide what threads do
  bool tells_threads_apart = false;  ///< threads that the client declares interchangeable
  bool has_heavy_fence = false;
  std::vector<std::uint64_t> newest{};    ///< words whose newest message some operation looks at
  std::vector<std::uint64_t> sections{};  ///< words that begin several operations in one step
};

}  // namespace lockyard::model
