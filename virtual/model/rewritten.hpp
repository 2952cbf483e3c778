// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hash.hpp"

#include <cstddef>
#include <vector>

namespace lockyard::model {

/// Plain data that a thread has written, as it was before the first of these writes. Two states of
/// the thread are compared by what differs from that.
class rewritten_memory {
 public:
  /// Called before the bytes change. False if they are too many to be kept.
  [[nodiscard]] bool note(const void* at, std::size_t size);
  /// Forgets everything: no state from before is compared with a later one.
  void clear();
  /// A larger number than before means that the thread has written what it had not written yet.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// Mixes in where the bytes differ, and what they are now.
  void mix_changes(hash128& all) const;

 private:
  struct part {
    const std::byte* at;
    std::vector<std::byte> before;
  };

  static constexpr std::size_t most_parts = 128;
  static constexpr std::size_t most_bytes = 4096;

  std::vector<part> all_;
  std::size_t bytes_ = 0;
};

}  // namespace lockyard::model
