// SPDX-License-Identifier: Apache-2.0
#pragma once

// The outcomes of an execution, and the caps within which it is run.

#include "mutation.hpp"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace lockyard::model {

enum class verdict : std::uint8_t {
  passed,
  race,       ///< on plain data
  assertion,  ///< of the client's
  hang,       ///< no thread can go on: a deadlock, a lost wake-up, a spin on a final value
  lifetime,   ///< an object is used after its end, or before others can know of its beginning
  not_deterministic,
  inconclusive,  ///< deeper than the cap, or more than the engine has room for
};

/// How `asymmetric_fence_light()` and `asymmetric_fence_heavy()` behave.
enum class barriers : std::uint8_t {
  membarrier,   ///< light is nothing, heavy a fence of every thread
  fences,       ///< both are fences of the caller
  may_be_lost,  ///< as membarrier, until a heavy one fails; each may
};

/// The number of early time-outs, and of short spins, that the engine can tell apart.
inline constexpr unsigned most_timeouts = 15;

struct settings {
  std::optional<unsigned> preemptions{};  ///< at most so many; nothing: any number
  unsigned spurious_wakes = 1;            ///< at most so many in an execution
  unsigned timeouts = 2;                  ///< early ones, while others could still go on
  unsigned short_spins = 2;               ///< at most so many end although others could go on
  std::optional<unsigned> old_reads{};    ///< at most so many; see docs/checking.md; nothing: any
  unsigned depth = 400;                   ///< steps
  unsigned finishing = 0;                 ///< steps after those, in one order
  barriers asymmetric = barriers::membarrier;
  unsigned weak_failures = 4;     ///< at most so many for no reason in a row that lead nowhere
  unsigned counted_pauses = 4;    ///< at most so many in a row, then the rest of the loop at once
  bool wakes_any = false;         ///< a wake may pick any sleeper, not only the first
  bool counts_all_wakes = false;  ///< all spurious ones; otherwise see futile_sleeps.cpp
  bool forgets_past = true;       ///< states with one future are one state (equal_futures.cpp)
  const mutation* planted = nullptr;
};

/// As little bounded as the engine permits. A loop that does something in each turn wakes for no
/// reason without an end, so these wakes stay counted.
constexpr settings unbounded(settings how = {}) {
  how.preemptions.reset();
  how.old_reads.reset();
  how.spurious_wakes = std::max(how.spurious_wakes, 1U);
  how.timeouts = how.short_spins = most_timeouts;
  return how;
}

/// A budget that an execution had used up, although it could have used more.
enum class cap : std::uint8_t {
  spurious_wakes,
  timeouts,
  short_spins,
  old_reads,
  weak_failures,
  counted_pauses,
  mixed_sizes,   ///< a store to a part of a word was one change of the word
  open_numbers,  ///< a program asked for any number, and few were tried
  depth,         ///< the rest of the execution was run in one order
  writes,        ///< the same, because a word had been written so often
};

using cap_set = std::bitset<10>;

/// The caps with their settings, as "early time-outs <= 2, old reads <= 1"; empty for none.
std::string to_text(const cap_set& reached, const settings& how);

}  // namespace lockyard::model
