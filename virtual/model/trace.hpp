// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace lockyard::model {

/// One line of an interleaving: which thread did what, and where in the source.
struct trace_line {
  unsigned thread;
  std::source_location where;
  std::string text;
};

using trace = std::vector<trace_line>;

/// The name of a source file without its folders.
std::string file_name(const char* path);

}  // namespace lockyard::model
