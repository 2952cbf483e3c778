// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <source_location>

namespace lockyard::plain {

/// The system call futex(), with its arguments.
struct futex_call {
  const std::uint32_t* word;
  int operation;
  std::uint32_t value;
  const std::timespec* limit;
  const std::uint32_t* second;
  std::uint32_t third;
  bool result_matters = true;
};

long futex(const futex_call& call, std::source_location where);

}  // namespace lockyard::plain
