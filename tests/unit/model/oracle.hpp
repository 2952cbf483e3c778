// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rules of C++20 [intro.races] and [atomics.order], applied to every candidate execution of a
// straight-line program: each read takes each write, each location has each modification order, and
// what breaks no rule remains. This shares nothing with the engine but the rules. Executions in
// which sequenced-before and reads-from form a cycle (load buffering) are left out, as the engine
// leaves them.

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockyard::oracle {

enum class operation : std::uint8_t {
  load,
  store,
  exchange,
  compare_exchange,
  weak_compare_exchange,
  fence,
  light_fence,
  heavy_fence,
  await,
  await_exchange,
  read_plain,
  write_plain,
};

struct instruction {
  operation does;
  unsigned where = 0;  ///< a word, or one of the plain variables
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failure = std::memory_order_relaxed;
  unsigned value = 0;     ///< written
  unsigned expected = 0;  ///< of a compare-exchange and an await
};

inline constexpr unsigned words = 3;
inline constexpr unsigned plains = 1;

struct program {
  std::vector<std::vector<instruction>> threads;
};

/// The values that the instructions have read, a nibble each, thread by thread, and then the last
/// value of each word. A compare-exchange adds 8 where it has written.
using outcome = std::uint64_t;

struct verdicts {
  bool races = false;
  bool hangs = false;
  std::set<outcome> outcomes;  ///< the outcomes of executions that end
};

verdicts all_executions(const program& of);

struct kinds {
  bool awaits = false;
  bool asymmetric = false;  ///< light and heavy fences
};

program random_program(std::uint64_t seed, kinds with);

std::string to_text(const program& of);

}  // namespace lockyard::oracle
