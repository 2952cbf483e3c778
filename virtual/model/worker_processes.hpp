// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace lockyard::model {

/// Copies of this process that search too. They end with it.
class worker_processes {
 public:
  worker_processes() = default;
  worker_processes(const worker_processes&) = delete;
  worker_processes& operator=(const worker_processes&) = delete;
  ~worker_processes();

  /// Runs `work` in that many more processes, each with its number, from 1. There may be fewer if
  /// the system permits no more.
  void start(unsigned count, const std::function<void(unsigned)>& work);
  /// Waits for all. False if one has ended before its work.
  bool join();
  /// Whether one has ended before its work.
  [[nodiscard]] bool has_lost_one();

 private:
  std::vector<pid_t> running_;
  bool has_lost_one_ = false;
};

}  // namespace lockyard::model
