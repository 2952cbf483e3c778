// SPDX-License-Identifier: Apache-2.0
#pragma once

// A type-erased pool for the study of workers: anything that runs tasks on a team of threads.

#include "../job.hpp"

#include <functional>
#include <memory>

namespace lockyard::harness {

/// A task of the study; the pool copies it.
struct shot {
  void (*run)(void* burst, unsigned index);
  void* burst;
  unsigned index;

  void operator()() const { run(burst, index); }
};

/// A pool; if it has its own threads, they exist once it is constructed.
class pool {
 public:
  pool() = default;
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  virtual ~pool() = default;

  virtual void submit(shot task) = 0;
  /// Called when every submitted task has run.
  virtual void burst_is_over() {}
};

/// The request that a pool is made for.
struct pool_request {
  const job& of;
  unsigned workers;
  unsigned most_waiting;  ///< the largest number of waiting tasks
  /// Each worker calls it first, with its number.
  std::function<void(unsigned worker)> take_place;
};

using pool_maker = std::unique_ptr<pool> (*)(const pool_request& request);

}  // namespace lockyard::harness
