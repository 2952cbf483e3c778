// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../job.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace lockyard::harness {

/// Files on which the workloads' system calls are made, in a new directory that the destructor
/// removes. The kernel's own locks are then the ones that threads contend for.
class kernel_files {
 public:
  /// Each thread has a file. `share_directory`: all files are in one directory; otherwise each is
  /// in its own. Throws condition_error if the files cannot be made.
  kernel_files(unsigned threads, bool share_directory);
  kernel_files(const kernel_files&) = delete;
  kernel_files& operator=(const kernel_files&) = delete;
  ~kernel_files();

  /// Opens the thread's file and closes it.
  void open_and_close(unsigned thread) noexcept;
  /// Locks a byte of a file and unlocks it. Threads of one process do not exclude each other so.
  void lock_and_unlock(unsigned file) noexcept;
  /// Tells whether all calls succeeded.
  [[nodiscard]] bool all_succeeded() const noexcept {
    // relaxed(owner): the threads have ended.
    return !has_failed_.load(std::memory_order_relaxed);
  }

 private:
  void make_file(const std::string& path);
  void remove_all() noexcept;
  void note(bool succeeded) noexcept;

  std::string folder_;
  std::vector<std::string> folders_;  ///< within it
  std::vector<std::string> paths_;
  std::vector<int> files_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace lockyard::harness
