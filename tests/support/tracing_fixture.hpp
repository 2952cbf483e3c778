// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests of traces share.

#include <lockyard/trace.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>
#include <vector>

namespace lockyard::testing {

using trace::event;
using trace::event_kind;

/// A trace of the test's own, in a file of the test's own.
class Tracing : public ::testing::Test {
 protected:
  ~Tracing() override {
    trace::stop();
    std::filesystem::remove(file_);
  }

  /// A trace of stamps alone, unless more is requested.
  void start(trace::size wanted = {.rings = 8, .events = 4096, .switches = false}) {
    ASSERT_EQ(trace::start(file_.string(), wanted, "a test"), std::error_code{});
  }
  void reread() {
    trace::stop();
    std::ifstream from{file_, std::ios::binary};
    // Eight bytes each, for they are to lie as a mapping does.
    bytes_.resize(std::filesystem::file_size(file_) / sizeof(std::uint64_t));
    from.read(reinterpret_cast<char*>(bytes_.data()),
              static_cast<std::streamsize>(bytes_.size() * sizeof(std::uint64_t)));
    ASSERT_TRUE(from.good());
  }
  [[nodiscard]] const trace::header& head() const {
    return *reinterpret_cast<const trace::header*>(bytes_.data());
  }
  [[nodiscard]] std::vector<const trace::ring*> rings() const {
    std::vector<const trace::ring*> found;
    for (std::uint32_t i = 0; i < head().ring_count; ++i) {
      const trace::ring* const each = head().ring_at(i);
      if (each->kind == trace::ring_kind::stamps) found.push_back(each);
    }
    return found;
  }
  /// Whether a ring has had room for all that was written. A waiter that yields writes for as long
  /// as the holder is off its processor, which no test can bound.
  [[nodiscard]] bool is_whole(const trace::ring& of) const {
    return of.written <= head().ring_events;
  }
  /// The remaining content of a ring, oldest first.
  [[nodiscard]] std::vector<event> events_of(const trace::ring& of) const {
    std::vector<event> found;
    const std::uint64_t room = head().ring_events;
    for (std::uint64_t i = of.written - std::min(of.written, room); i < of.written; ++i) {
      found.push_back(of.events()[i & (room - 1)]);
    }
    return found;
  }
  [[nodiscard]] std::vector<event_kind> kinds_of(const trace::ring& of) const {
    std::vector<event_kind> found;
    for (const event& each : events_of(of)) found.push_back(each.kind);
    return found;
  }

  std::filesystem::path file_ = std::filesystem::temp_directory_path() /
                                ("lockyard-tracing-test." + std::to_string(getpid()) + ".trace");
  std::vector<std::uint64_t> bytes_;
};

}  // namespace lockyard::testing
