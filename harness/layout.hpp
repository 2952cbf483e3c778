// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the data lie that a lock protects, as a parameter of studies.

#include "job.hpp"
#include "study.hpp"
#include "subject.hpp"

namespace lockyard::harness {

/// The parameter `layout`, of studies whose threads change data under the lock.
inline listed_parameter layout_parameter() {
  return {.name = "layout",
          .type = parameter_type::choice,
          .summary =
              "where the protected data is: on its own cache lines, or directly after the "
              "lock",
          .defaults = {0},
          .choices = {{.name = "padded"}, {.name = "next-to-data"}}};
}

/// Returns the layout that the job names.
inline layout layout_of(const job& of) {
  return of.choice("layout") == "padded" ? layout::padded : layout::next_to_data;
}

}  // namespace lockyard::harness
