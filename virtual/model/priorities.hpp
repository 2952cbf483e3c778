// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "view.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>

namespace lockyard::model {

/// Probabilistic concurrency testing: the thread of the highest priority runs, and at a few
/// random steps the running thread falls behind all others.
class priorities {
 public:
  priorities(std::minstd_rand& random, unsigned length) {
    for (std::size_t i = 0; i < of_.size(); ++i) of_[i] = static_cast<int>(i) + 1;
    std::ranges::shuffle(of_, random);
    for (unsigned& step : changes_) step = static_cast<unsigned>(random() % length);
  }
  unsigned pick(std::span<const thread_index> runnable) {
    unsigned best = highest(runnable);
    if (std::ranges::find(changes_, step_++) != changes_.end()) {
      of_[runnable[best]] = --lowest_;
      best = highest(runnable);
    }
    return best;
  }

 private:
  [[nodiscard]] unsigned highest(std::span<const thread_index> runnable) const {
    unsigned best = 0;
    for (unsigned i = 1; i < runnable.size(); ++i) {
      if (of_[runnable[i]] > of_[runnable[best]]) best = i;
    }
    return best;
  }

  std::array<int, max_threads> of_{};
  std::array<unsigned, 3> changes_{};
  int lowest_ = 0;
  unsigned step_ = 0;
};

}  // namespace lockyard::model
