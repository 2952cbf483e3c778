// SPDX-License-Identifier: Apache-2.0
#pragma once

// Worker pools of every idle policy behind one interface, so that a test is compiled once.

#include <lockyard/event/worker_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace lockyard::testing {

class some_pool {
 public:
  virtual ~some_pool() = default;
  virtual std::optional<refused_task> submit(task work) = 0;
  virtual std::optional<refused_task> try_submit(task work) = 0;
  virtual void drain() = 0;
  virtual std::vector<task> cancel() = 0;
  virtual stop_report stop_within(std::chrono::nanoseconds patience) = 0;
  [[nodiscard]] virtual std::size_t waiting() const = 0;
};

/// A policy, by its pools.
struct pool_maker {
  const char* idle;
  std::unique_ptr<some_pool> (*make)(worker_pool_options options);
};

inline void PrintTo(const pool_maker& each, std::ostream* to) {
  *to << each.idle;
}

inline std::string name_of_pool(const ::testing::TestParamInfo<pool_maker>& of) {
  return of.param.idle;
}

/// One for each policy.
const std::vector<pool_maker>& pool_makers();

}  // namespace lockyard::testing
