// SPDX-License-Identifier: Apache-2.0
#pragma once

// The workloads of the study scale, native and simulated.

#include <array>
#include <string_view>

namespace lockyard::harness {

struct workload_shape {
  std::string_view name;
  bool opens;               ///< opens and closes a file; otherwise locks and unlocks a range of one
  bool is_apart;            ///< each thread has its own list or directory
  unsigned acquisitions;    ///< per operation, each after a part of the think time
  unsigned of_shared_lock;  ///< acquisitions of the shared lock
  double think_ns;          ///< per operation, without any lock
};

/// With these think times a thread alone takes about 465 ns for lock1 and lock2, 720 for open1 and
/// 750 for open2, as in the published tables.
inline constexpr std::array workload_shapes{
    workload_shape{"lock1", false, true, 3, 1, 425},
    workload_shape{"lock2", false, false, 2, 2, 430},
    workload_shape{"open1", true, false, 5, 2, 650},
    workload_shape{"open2", true, true, 5, 2, 685},
};

}  // namespace lockyard::harness
