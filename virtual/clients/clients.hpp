// SPDX-License-Identifier: Apache-2.0
#pragma once

// Correct clients, in addition to the catalogue's locks.

#include <checker/registry.hpp>

#include <memory>
#include <vector>

namespace lockyard::checker {

template <class Client>
model::client_maker client_of(const model::client_size& size) {
  return [size] { return std::make_unique<Client>(size); };
}

std::vector<checked_client> clients();
std::vector<checked_client> condition_clients();
std::vector<checked_client> lock_free_clients();
std::vector<checked_client> resilient_clients();
std::vector<checked_client> reuse_clients();
std::vector<checked_client> semaphore_clients();
std::vector<checked_client> task_queue_clients();

}  // namespace lockyard::checker
