// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace my {

/// Hands one value from a thread to another. The constructor has an argument, so the class cannot
/// be checked by --lock: a client makes the object.
template <class T>
class one_slot {
 public:
  explicit one_slot(T empty) : value_{empty} {}

  void put(T value) {
    value_ = value;
    is_full_.store(true, std::memory_order_release);
  }
  bool take(T& to) {
    if (!is_full_.load(std::memory_order_acquire)) return false;
    to = value_;
    return true;
  }

 private:
  std::atomic<bool> is_full_{false};
  T value_;
};

}  // namespace my
