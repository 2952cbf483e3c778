// SPDX-License-Identifier: Apache-2.0
#pragma once

// Correct clients, in addition to the catalogue's locks.

#include <checker/registry.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace lockyard::checker {

template <class Client>
model::client_maker client_of(const model::client_size& size) {
  return [size] { return std::make_unique<Client>(size); };
}

inline checked_client client(std::string_view name, std::string_view summary, maker make,
                             model::client_size size, const model::settings& how) {
  return {.name = name,
          .of = group::client,
          .summary = summary,
          .make = make,
          .size = size,
          .how = how};
}

std::vector<checked_client> clients();
std::vector<checked_client> condition_clients();
std::vector<checked_client> lock_free_clients();
std::vector<checked_client> resilient_clients();
std::vector<checked_client> reuse_clients();
std::vector<checked_client> semaphore_clients();
std::vector<checked_client> task_queue_clients();

}  // namespace lockyard::checker
