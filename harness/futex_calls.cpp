// SPDX-License-Identifier: Apache-2.0
#include "futex_calls.hpp"

#include "tracing/tracepoints.hpp"

#include <linux/perf_event.h>
#include <unistd.h>

#include <system_error>

namespace lockyard::harness {

futex_calls::futex_calls() {
  // Found once: to find it may mount a file system, which no thread should do during a run.
  static const auto id = tracepoint_folder{}.number_of("syscalls/sys_enter_futex");
  if (!id) {
    why_not_ = "the tracepoint of the system call cannot be read, or this kernel traces none; " +
               how_to_read_tracepoints();
    return;
  }
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.size = sizeof attributes;
  attributes.config = *id;
  try {
    event_ = open_event(attributes, watched::calling_thread());
  } catch (const std::system_error& error) {
    why_not_ = "the kernel refuses to count by its tracepoint (" + error.code().message() +
               "): run as root, or with CAP_PERFMON and kernel.perf_event_paranoid at most 1";
  }
}

std::optional<std::uint64_t> futex_calls::count() const {
  std::uint64_t found = 0;
  if (!event_.is_open() || read(event_.number(), &found, sizeof found) != sizeof found) {
    return std::nullopt;
  }
  return found;
}

}  // namespace lockyard::harness
