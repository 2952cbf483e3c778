// SPDX-License-Identifier: Apache-2.0
#pragma once

// The standard library's way to run tasks, and a pool without threads.

#include "pool.hpp"

#include <future>
#include <vector>

namespace lockyard::harness {

/// Starts a thread for each task: std::async with the policy async.
class async_pool final : public pool {
 public:
  explicit async_pool(const pool_request& request) {
    if (!std::holds_alternative<pinning>(request.of.pin) ||
        std::get<pinning>(request.of.pin) != pinning::none) {
      throw condition_error{
          "std::async starts a thread for each task, which cannot be pinned; drop --pin, or "
          "measure "
          "other pools"};
    }
    if (request.of.under.of == policy::deadline) {
      throw condition_error{
          "std::async starts a thread for each task, which a deadline thread may not do; choose "
          "another policy, or measure other pools"};
    }
    running_.reserve(request.most_waiting);
  }

  void submit(shot each) override { running_.push_back(std::async(std::launch::async, each)); }
  void burst_is_over() override { running_.clear(); }

 private:
  std::vector<std::future<void>> running_;
};

/// Runs each task where it is submitted: what remains is the cost of the harness.
class no_pool final : public pool {
 public:
  explicit no_pool(const pool_request& /*request*/) {}

  void submit(shot each) override { each(); }
};

}  // namespace lockyard::harness
