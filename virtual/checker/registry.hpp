// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the checker knows to check: the catalogue's own locks, the clients of tests/model, the
// litmus tests, and the faults of tests/mutants.

#include <model/client.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace lockyard::checker {

enum class group : std::uint8_t {
  lock,    ///< of the catalogue
  client,  ///< of tests/model: a protocol that is no lock of the catalogue
  litmus,  ///< a few accesses whose outcomes the memory model allows or forbids
  mutant,  ///< a fault that the checker has to find
};

/// What makes clients of one shape.
using maker = model::client_maker (*)(const model::exclusion_shape& shape);

struct subject {
  std::string_view name;
  group of;
  std::string_view summary;
  maker make;
  model::exclusion_shape shape;  ///< in which it is checked if nobody says otherwise
  model::verdict expected = model::verdict::passed;
  model::settings how{};
  bool offers_timed = false;  ///< has try_lock_for, so that the shapes with time-outs suit it
  /// Preemptions of two threads, where there are too many executions to have all of them; of more
  /// threads one less.
  std::optional<unsigned> bound{};

  /// How it is searched in a shape if nobody says otherwise.
  [[nodiscard]] model::settings settings_in(const model::exclusion_shape& chosen) const;
};

const std::vector<subject>& all_subjects();

/// Null if there is none of that name.
const subject* find_subject(std::string_view name);

std::string_view name_of(group which) noexcept;

}  // namespace lockyard::checker
