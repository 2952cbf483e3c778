// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the study of workers measures, without its type: whatever runs tasks on a team of threads.

#include "../job.hpp"

#include <functional>
#include <memory>

namespace lockyard::harness {

/// A task of the study; copied into whatever runs it.
struct shot {
  void (*run)(void* burst, unsigned index);
  void* burst;
  unsigned index;

  void operator()() const { run(burst, index); }
};

/// Its threads are there when it has been made, where it has threads of its own.
class pool {
 public:
  pool() = default;
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  virtual ~pool() = default;

  virtual void submit(shot task) = 0;
  /// Every task that was submitted has run.
  virtual void burst_is_over() {}
};

/// What a pool is made for.
struct pool_request {
  const job& of;
  unsigned workers;
  unsigned most_waiting;  ///< tasks at a time
  /// To be called by each worker first, with its number.
  std::function<void(unsigned worker)> take_place;
};

using pool_maker = std::unique_ptr<pool> (*)(const pool_request& request);

}  // namespace lockyard::harness
