// SPDX-License-Identifier: Apache-2.0
#include "lock_free_clients.hpp"

#include "clients.hpp"

namespace lockyard::checker {

std::vector<checked_client> lock_free_clients() {
  using world = model::model;
  const auto stack = &client_of<lock_free_stack_client<harness::lock_free_stack<world>>>;
  const auto queue = &client_of<lock_free_queue_client<harness::lock_free_queue<world>>>;
  return {
      client("lock_free_counter", "a counter by atomic additions",
             &client_of<lock_free_counter_client<harness::lock_free_counter<world>>>,
             {.threads = 3, .acquisitions = 2}, model::unbounded()),
      client("lock_free_stack", "Treiber's stack, whose nodes come back", stack,
             {.threads = 2, .acquisitions = 2}, model::unbounded()),
      client("lock_free_stack_three", "the same with three threads", stack, {.threads = 3}, {}),
      client("lock_free_queue", "Michael and Scott's queue, whose nodes come back", queue,
             {.threads = 2, .acquisitions = 2}, model::unbounded()),
      client("lock_free_queue_three", "the same with three threads", queue, {.threads = 3},
             {.preemptions = 0}),
  };
}

}  // namespace lockyard::checker
