// SPDX-License-Identifier: Apache-2.0
#pragma once

// A user's own locks. The command has the studies compiled once more, for those locks alone, and
// links what comes of it with all that is here: the same program, with more cells. Objects of such
// a build add themselves before main; in the harness as it is installed nothing does.

#include "../studies/studies.hpp"

#include <lockyard/lock_traits.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace lockyard::harness {

/// What is known of a user's lock, beside its name.
struct own_source {
  std::string_view header;    ///< as it was given
  std::string_view sha256;    ///< of the header
  std::string_view compiler;  ///< of the studies of this lock; the flags too
  std::string_view flags;
};

struct own_lock {
  lock_traits traits;
  std::size_t size_bytes;
  own_source source;
};

/// In the order in which they were given.
const std::vector<own_lock>& adopted_locks();

/// Null if the study was not compiled for that lock.
const cell* find_adopted_cell(std::string_view study, std::string_view lock);

/// Declared static, each adds what it is constructed with.
struct adoption {
  explicit adoption(std::vector<own_lock> locks);
  explicit adoption(study with_own_cells);
};

}  // namespace lockyard::harness
