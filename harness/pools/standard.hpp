// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the standard library has for tasks, and none at all.

#include "pool.hpp"

#include <future>
#include <vector>

namespace lockyard::harness {

/// A thread for each task: std::async, told to start one.
class async_pool final : public pool {
 public:
  explicit async_pool(const pool_request& request) {
    if (!std::holds_alternative<pinning>(request.of.pin) ||
        std::get<pinning>(request.of.pin) != pinning::none) {
      throw condition_error{
          "std::async starts a thread for each task, which nobody can pin; leave --pin out, or "
          "measure other pools"};
    }
    if (request.of.under.of == policy::deadline) {
      throw condition_error{
          "std::async starts a thread for each task, which a deadline thread must not; choose "
          "another policy, or measure other pools"};
    }
    running_.reserve(request.most_waiting);
  }

  void submit(shot each) override { running_.push_back(std::async(std::launch::async, each)); }
  void burst_is_over() override { running_.clear(); }

 private:
  std::vector<std::future<void>> running_;
};

/// Runs each task where it is submitted: what remains is the harness's own cost.
class no_pool final : public pool {
 public:
  explicit no_pool(const pool_request& /*request*/) {}

  void submit(shot each) override { each(); }
};

}  // namespace lockyard::harness
