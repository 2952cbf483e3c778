// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's tracepoints, by name.

#include "kernel_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace lockyard::harness {

/// The folder of tracepoints: where tracefs is mounted, or else in a mount that has no place, so
/// that no other process sees it, and that ends with this object.
class tracepoint_folder {
 public:
  tracepoint_folder();

  /// Returns a tracepoint's number, as of "sched/sched_waking"; nullopt if the kernel lacks it, or
  /// permits no look.
  [[nodiscard]] std::optional<std::uint16_t> number_of(const std::string& name) const;
  /// Returns the description of a tracepoint's records; empty as above.
  [[nodiscard]] std::string format_of(const std::string& name) const;

 private:
  [[nodiscard]] std::string read(const std::string& path) const;

  descriptor folder_;
};

/// Returns where a field begins in records, by the format's "field:TYPE NAME; offset:N;"; 0 if it
/// is not in there.
std::size_t offset_of_field(const std::string& format, const std::string& field);

/// Returns what a user can do to read them, for a message.
std::string how_to_read_tracepoints();

}  // namespace lockyard::harness
