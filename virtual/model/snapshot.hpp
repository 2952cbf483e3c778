// SPDX-License-Identifier: Apache-2.0
#pragma once

// Points between two steps to which the search goes back (snapshots.cpp).

#include "execution_state.hpp"
#include "memory.hpp"
#include "records.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lockyard::model {

struct snapshot {
  std::size_t choices = 0;  ///< made before
  progress_so_far progress;
  memory words;
  std::array<thread_record, max_threads> threads;
  std::vector<std::pair<location_index, thread_index>> sleepers;
  std::vector<std::byte> bytes;  ///< the client, its states, and the threads' stacks
  std::vector<bool> taken;       ///< for each room
};

/// The snapshots of an execution, the latest last. Those that are not needed keep their memory.
class snapshot_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == most; }
  void clear() noexcept { count_ = 0; }
  /// Returns one to be filled.
  snapshot& add() {
    if (count_ == all_.size()) all_.push_back(std::make_unique<snapshot>());
    return *all_[count_++];
  }
  /// Returns the last one with no more choices than so many, and drops those with more; null if
  /// there is none.
  const snapshot* last_within(std::size_t choices) noexcept {
    while (count_ != 0 && all_[count_ - 1]->choices > choices) --count_;
    return count_ == 0 ? nullptr : all_[count_ - 1].get();
  }

 private:
  static constexpr std::size_t most = 256;

  std::vector<std::unique_ptr<snapshot>> all_;
  std::size_t count_ = 0;
};

}  // namespace lockyard::model
