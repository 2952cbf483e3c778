// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pool.hpp"

#include <lockyard/event/worker_pool.hpp>

#include <stdexcept>

namespace lockyard::harness {

/// worker_pool, with each idle policy.
template <class Idle>
class pool_of_ours final : public pool {
 public:
  explicit pool_of_ours(const pool_request& request)
      : pool_{{.workers = request.workers,
               .capacity = request.most_waiting,
               .on_start = request.take_place}} {}

  void submit(shot each) override {
    if (pool_.submit({"shot", each})) throw std::logic_error{"a running pool refused a task"};
  }

 private:
  worker_pool<Idle> pool_;
};

}  // namespace lockyard::harness
