// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the debug mode reports, kept for a test to look at.

#include <lockyard/debug.hpp>

#include <deque>
#include <vector>

namespace lockyard::testing {

struct record {
  debug::problem kind;
  std::vector<debug::step> steps;
};

/// Keeps the reports of the process in `records` while it lives. One at a time.
class recording {
 public:
  recording() { records.clear(); }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording() { debug::set_handler(before_); }

  /// The handler.
  static void keep(const debug::report& found) noexcept {
    records.push_back({found.kind, {found.steps.begin(), found.steps.end()}});
  }

  static inline std::deque<record> records;

 private:
  debug::handler before_ = debug::set_handler(&keep);
};

}  // namespace lockyard::testing
