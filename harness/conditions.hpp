// SPDX-License-Identifier: Apache-2.0
#pragma once

// The environment of a run's threads: the busy neighbour, the timer slack, the control group, and
// the kernel's own limit for real-time threads that do not end.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace lockyard::harness {

struct conditions_request {
  unsigned load;  ///< busy threads of another process
  int load_nice;
  std::optional<std::uint64_t> timer_slack_ns;  ///< each thread's; nullopt: unchanged
  std::optional<std::string> cgroup;            ///< folder of the group to join
  double limit_s;                               ///< no run takes longer
};

/// Another process that keeps this many threads busy until it is destroyed.
class busy_neighbour {
 public:
  /// Returns when each of its threads has had a processor. Throws condition_error.
  explicit busy_neighbour(const conditions_request& wanted);
  busy_neighbour(const busy_neighbour&) = delete;
  busy_neighbour& operator=(const busy_neighbour&) = delete;
  ~busy_neighbour();

  /// Throws condition_error if it has ended.
  void check_alive();

 private:
  pid_t process_ = 0;  ///< 0 if there is none
};

/// Called by a thread that runs under its policy. Throws condition_error.
void set_timer_slack(std::uint64_t slack_ns);

/// In force from construction on, for this process and the threads that it starts later; the
/// neighbour until destruction. Throws condition_error if something is unavailable. Must be
/// constructed while there is only one thread.
class enforced_conditions {
 public:
  explicit enforced_conditions(const conditions_request& wanted);

  /// Throws condition_error if something did not last until now.
  void check_in_force() { neighbour_.check_alive(); }

 private:
  busy_neighbour neighbour_;
};

}  // namespace lockyard::harness
