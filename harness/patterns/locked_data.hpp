// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pattern.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace lockyard::harness {

/// Data behind one lock, in a cache line of their own.
template <class Data>
class locked_data : public pattern {
 public:
  explicit locked_data(const subject& lock, std::uint64_t seed)
      : lock_{std::make_unique<arena<Data>>(lock, seed)}, operations_{lock.operations} {
    if (lock.traits.excludes) return;
    throw condition_error{std::string{lock.traits.name} +
                          " excludes no thread, and the data of this workload would be destroyed; "
                          "leave it out"};
  }

  [[nodiscard]] void* main_lock() const final { return lock_->lock(); }

 protected:
  [[nodiscard]] any_lock lock() const noexcept { return {lock_->lock(), operations_}; }
  [[nodiscard]] Data& data() const noexcept { return lock_->data(); }

 private:
  std::unique_ptr<arena<Data>> lock_;
  const lock_operations& operations_;
};

}  // namespace lockyard::harness
