// SPDX-License-Identifier: Apache-2.0
#pragma once

// User locks. The command compiles the studies again, for those locks only, and links the result
// with everything here: the same program, with more cells. Objects of such a build register
// themselves before main; the installed harness has none.

#include "../study.hpp"

#include <lockyard/lock_traits.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace lockyard::harness {

/// Facts about a user lock, besides its name.
struct user_source {
  std::string_view header;    ///< as the user wrote it
  std::string_view sha256;    ///< hash of the header
  std::string_view compiler;  ///< the compiler of this lock's studies, with its flags
  std::string_view flags;
};

struct user_lock {
  lock_traits traits;
  std::size_t size_bytes;
  user_source source;
};

/// The locks in the order in which they were given.
const std::vector<user_lock>& adopted_locks();

/// Returns null if the study was not compiled for that lock.
const cell* find_adopted_cell(std::string_view study, std::string_view lock);

/// Declared static, each object registers its argument.
struct adoption {
  explicit adoption(std::vector<user_lock> locks);
  explicit adoption(study with_own_cells);
};

}  // namespace lockyard::harness
