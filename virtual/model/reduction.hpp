// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which orders of steps need no search of their own. Two steps of different threads are independent
// if both orders lead to the same execution graph. reduction.cpp says how the search uses that.

#include "memory.hpp"
#include "settings.hpp"
#include "waits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockyard::model {

/// The steps of other threads on which a thread's next operation depends.
enum class upcoming : std::uint8_t {
  alone,        ///< on nothing, and nothing that other threads do depends on it
  reads,        ///< on new messages of the word
  changes,      ///< as reads, and on operations that look at the newest message of the word
  awaits,       ///< as reads or changes, of one of the words that an await looks at
  stores,       ///< on operations that look at the newest message of the word, if there are any
  sleeps,       ///< on changes of the word, and on sleeping and waking there
  wakes,        ///< on sleeping and waking at the address
  section,      ///< several operations in one step: on all that such steps depend on
  other,        ///< on each step that others can notice
  light_fence,  ///< on heavy fences
  heavy_fence,  ///< on light and heavy fences
};

struct pending {
  upcoming does = upcoming::alone;
  location_index where = 0;
  const void* address = nullptr;  ///< the place of the word at which it sleeps or wakes
  bool releases = false;          ///< the word, which the thread owns
};

/// How a step uses the threads that sleep at an address.
enum class queue_use : std::uint8_t {
  joins = 1,
  takes = 2,       ///< some of them
  finds_none = 4,  ///< to take
};

/// The effects of a step on which operations of other threads may depend.
struct effects {
  std::vector<location_index> written{};
  std::vector<location_index> newest{};  ///< the words whose newest message it has looked at
  std::vector<std::pair<const void*, queue_use>> queues{};
  bool has_paused = false;
  bool has_fenced = false;          ///< a light or a heavy fence
  bool has_fenced_heavily = false;  ///< a heavy one

  void clear() noexcept {
    written.clear();
    newest.clear();
    queues.clear();
    has_paused = has_fenced = has_fenced_heavily = false;
  }
  [[nodiscard]] bool has_written(location_index where) const {
    return std::ranges::find(written, where) != written.end();
  }
  [[nodiscard]] bool has_looked_at(location_index where) const {
    return std::ranges::find(newest, where) != newest.end();
  }
  /// Whether it has used the queue in one of these ways; by default in any.
  [[nodiscard]] bool has_queued_at(const void* address, unsigned ways = ~0U) const {
    return std::ranges::any_of(queues, [&](const auto& each) {
      return each.first == address && (static_cast<unsigned>(each.second) & ways) != 0;
    });
  }
  [[nodiscard]] bool any() const noexcept {
    return !written.empty() || !queues.empty() || has_paused || has_fenced;
  }
};

/// A deferred thread: its next operation comes after something that the operation depends on.
/// Executions in which it comes before are searched elsewhere.
struct deferral {
  bool is_on = false;
  bool awaits = false;
  /// For each word that the operation reads, how many messages are not new.
  std::array<message_index, max_looks> known{};
};

inline constexpr std::uint16_t all_threads = (1U << max_threads) - 1;

/// Which threads wait for steps of others, as sets of threads.
struct waits_for_steps {
  std::uint16_t alive = 0;
  std::uint16_t deferred = 0;  ///< and could run otherwise
  /// For each thread its helpers, of which one has to make a step first; all, if it waits for none.
  std::array<std::uint16_t, max_threads> helpers{};
};

/// The facts that the search has learned about the client. Independence needs knowledge of all that
/// threads will ever do, so the search begins anew when it has learned something. A word is known
/// by the place of its creation in the source, or by its memory if the code has no world.
struct conflicts {
  /// There are operations that no rule covers: heavy fences that may fail, words with priority
  /// inheritance, deadlines that threads share; and what code without a world does besides
  /// operations on words (execution::note_unordered). Nothing is left out.
  bool has_unordered = false;
  bool has_unseen = false;           ///< the graph does not decide what threads do
  bool tells_threads_apart = false;  ///< threads that the client declares interchangeable
  bool has_heavy_fence = false;
  std::vector<word_users> users{};
  bool all_may_write = false;                   ///< each word, as far as the search knows
  std::vector<std::uint64_t> sections{};        ///< words that begin several operations in one step
  std::vector<std::uint64_t> read_within{};     ///< words that such a step reads
  std::vector<std::uint64_t> written_within{};  ///< words that such a step writes
  bool has_queue_within = false;                ///< such a step sleeps or wakes
  /// Of time-outs, short spins and spurious wakes, those that an execution has used up: how many
  /// are left tells states apart.
  cap_set used_up{};
  bool has_loops = false;  ///< loops that pause, or that repeat a weak compare-exchange
};

}  // namespace lockyard::model
