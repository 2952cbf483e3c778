// SPDX-License-Identifier: Apache-2.0
#pragma once

// Correct clients, in addition to the catalogue's locks.

#include <checker/registry.hpp>

#include <memory>
#include <vector>

namespace lockyard::checker {

template <class Client>
model::client_maker client_of(const model::exclusion_shape& shape) {
  return [shape] { return std::make_unique<Client>(shape); };
}

std::vector<subject> clients();
std::vector<subject> condition_clients();
std::vector<subject> resilient_clients();
std::vector<subject> reuse_clients();
std::vector<subject> semaphore_clients();
std::vector<subject> task_queue_clients();

}  // namespace lockyard::checker
