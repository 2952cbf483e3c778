// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "view.hpp"

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace lockyard::model {

/// A message that a read could have taken instead, and the line that wrote it, if there is one.
struct other_message {
  std::string value;
  std::optional<std::size_t> written_by;
};

/// One line of an interleaving: which thread did what, and where in the source. The rest is for
/// programs that draw an execution. Lines are named by their index.
struct trace_line {
  unsigned thread;
  std::source_location where;
  std::string text;
  std::string kind{};   ///< such as "load" or "fence"
  std::string order{};  ///< memory order, if the step has one
  std::string word{};   ///< name of the word or the plain data
  std::optional<std::string> read{};
  std::optional<std::string> written{};
  std::optional<std::size_t> reads_from{};  ///< nothing: the initial value
  std::vector<other_message> others{};
  std::vector<std::size_t> after{};  ///< lines of other threads that happen before this line, and
                                     ///< before no earlier line of its thread
  std::optional<std::size_t> conflicts_with{};  ///< the other access of a race
  unsigned event = 0;                           ///< number of the thread's event
  clock happened{};                             ///< what the thread knows after this line
};

using trace = std::vector<trace_line>;

/// Memory on a thread's stack that other threads use, counted from the stack's top.
struct shared_part {
  std::size_t stack;
  std::size_t begin;
  std::size_t end;
};

/// The name of a source file without its folders.
std::string file_name(const char* path);

}  // namespace lockyard::model
