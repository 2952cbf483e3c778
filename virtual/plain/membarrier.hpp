// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

namespace lockyard::plain {

/// Whether the process has registered for private barriers: during static initialisation, which
/// each execution finds so, or since.
class barrier_registration {
 public:
  void reset() { is_made_ = is_made_early_; }
  void make();
  void make_early() { is_made_early_ = true; }
  [[nodiscard]] bool is_made() const { return is_made_; }

 private:
  bool is_made_ = false;
  static inline bool is_made_early_ = false;
};

/// The system call membarrier().
long membarrier(int command, unsigned flags, std::source_location where);
/// std::atomic_signal_fence(seq_cst), as the other side of it.
void signal_fence(std::source_location where);

}  // namespace lockyard::plain
