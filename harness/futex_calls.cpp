// SPDX-License-Identifier: Apache-2.0
#include "futex_calls.hpp"

#include "tracing/tracepoints.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockyard::harness {

namespace {

/// Returns the descriptor, or a negative number with errno set if the kernel refuses.
int open_event(std::uint64_t id) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.size = sizeof attributes;
  attributes.config = id;
  constexpr int this_thread = 0;
  constexpr int any_processor = -1;
  constexpr int no_group = -1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, this_thread, any_processor,
                                  no_group, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

futex_calls::futex_calls() {
  const auto id = tracepoint_folder{}.number_of("syscalls/sys_enter_futex");
  if (!id) {
    why_not_ = "the tracepoint of the system call cannot be read, or this kernel traces none; " +
               how_to_read_tracepoints();
    return;
  }
  event_ = open_event(*id);
  if (event_ < 0) {
    why_not_ = std::string{"the kernel refuses to count by its tracepoint ("} +
               std::strerror(errno) +
               "): run as root, or with CAP_PERFMON and kernel.perf_event_paranoid at most 1";
  }
}

futex_calls::~futex_calls() {
  if (event_ >= 0) close(event_);
}

std::optional<std::uint64_t> futex_calls::count() const {
  std::uint64_t found = 0;
  if (event_ < 0 || read(event_, &found, sizeof found) != sizeof found) return std::nullopt;
  return found;
}

}  // namespace lockyard::harness
