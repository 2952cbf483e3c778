// SPDX-License-Identifier: Apache-2.0
#pragma once

// Searches all executions of a client, or as many as memory and time permit. Executions that reach
// the same state (the same prefix of the execution graph) have the same futures, so the second one
// ends there.

#include "choices.hpp"
#include "execution.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockyard::model {

using client_maker = std::function<std::unique_ptr<client>()>;

enum class search : std::uint8_t {
  exhaustive,  ///< within the bound on preemptions, if there is one
  pct,         ///< random priorities, changed at a few random steps
  random,
};

struct progress {
  std::uint64_t executions;
  std::uint64_t states;
};

struct plan {
  settings how{};
  search order = search::exhaustive;
  bool uses_cache = true;
  bool reduces = true;  ///< leaves out orders of steps that lead to the same graph
  /// An exhaustive search that takes long looks at random executions now and then. It may then find
  /// another fault than the first one in its order.
  bool samples = false;
  bool exchanges = true;  ///< leaves out graphs that others become if threads are exchanged
  /// Executions go on from snapshots of earlier ones; for a program that notes what clients take
  /// from the heap.
  bool keeps_snapshots = false;
  unsigned workers = 2;
  bool forks = false;  ///< workers are processes, as the client's variables are the process's
  std::size_t memory_bytes = std::size_t{2} << 30U;
  double seconds = 0;  ///< the limit; 0: none for exhaustive search, 10 for the others
  std::uint64_t seed = 1;
  site_list* sites = nullptr;                          ///< filled by one worker only
  std::function<bool(const progress&)> on_progress{};  ///< called now and then; false stops
  std::function<void()> on_begin{};  ///< called when the search begins, and begins anew
  std::function<void()> on_fork{};   ///< called in each process that the search starts
  /// The number of facts about the client's code that outlive an execution.
  std::function<std::size_t()> facts{};
};

struct found {
  verdict result = verdict::passed;
  std::string what;
  trace steps;                      ///< the failing execution
  std::vector<shared_part> shared;  ///< parts of stacks, in a replay
  std::string replay;               ///< its choices
  std::uint64_t executions = 0;
  std::uint64_t states = 0;  ///< distinct states, if the cache is used
  std::uint64_t cut = 0;     ///< executions that reached a known state
  std::uint64_t too_deep = 0;
  std::string left_out;  ///< why not everything was covered; empty if it was
  std::string bounded;   ///< which caps took effect; empty if none did
  double seconds = 0;

  [[nodiscard]] bool passed() const noexcept {
    return result == verdict::passed && left_out.empty();
  }
};

found explore(const client_maker& make, plan by);

/// Runs the execution of a list of choices. A list that does not fit is verdict::not_deterministic.
/// It is run twice, unless the parts of stacks that threads share are known from an earlier replay.
found replay(const client_maker& make, const settings& how, const std::string& choices,
             const std::vector<shared_part>* shared = nullptr);

/// Returns where the client, and the code that it uses, writes an order or a wake.
site_list sites_of(const client_maker& make, plan by);

/// What no search covers, on one line.
inline constexpr std::string_view not_covered =
    "load buffering, other sizes of the client, and faults of compilers and processors";

std::string name_of(verdict which);

/// Returns the interleaving as text: a line for each step.
std::string to_text(const trace& steps);

}  // namespace lockyard::model
