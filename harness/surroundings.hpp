// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is around the threads of a run: the busy neighbour, the timer slack, the control group, and
// the kernel's own limit for real-time threads that do not end.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace lockyard::harness {

struct surroundings_request {
  unsigned load;  ///< busy threads of another process
  int load_nice;
  std::optional<std::uint64_t> timer_slack_ns;  ///< as it is, if none is given
  std::optional<std::string> cgroup;            ///< folder of the group to join
  double limit_s;                               ///< no run takes longer
};

/// Another process that keeps so many threads busy, until it is destroyed.
class busy_neighbour {
 public:
  /// Comes back when each of its threads has had a processor. Throws condition_error.
  explicit busy_neighbour(const surroundings_request& wanted);
  busy_neighbour(const busy_neighbour&) = delete;
  busy_neighbour& operator=(const busy_neighbour&) = delete;
  ~busy_neighbour();

 private:
  pid_t process_ = 0;  ///< none
};

/// In force from construction on, for this process and the threads it starts after; the neighbour
/// until destruction. Throws condition_error if something cannot be had. To be made while there is
/// one thread.
class surroundings {
 public:
  explicit surroundings(const surroundings_request& wanted);

 private:
  busy_neighbour neighbour_;
};

}  // namespace lockyard::harness
