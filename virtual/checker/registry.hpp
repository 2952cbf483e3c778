// SPDX-License-Identifier: Apache-2.0
#pragma once

// The clients that the checker knows: the catalogue's locks, the clients of virtual/clients, the
// litmus tests, and the faults.

#include <model/client.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace lockyard::checker {

enum class group : std::uint8_t {
  lock,    ///< a lock of the catalogue
  client,  ///< of tests/model: a protocol that is not a lock of the catalogue
  litmus,  ///< a few accesses whose outcomes the memory model allows or forbids
  mutant,  ///< a fault that the checker has to find
};

/// Makes clients of one size.
using maker = model::client_maker (*)(const model::client_size& size);

/// For a lock that has too many executions to search all of them at each size.
struct size_bound {
  unsigned preemptions;      ///< by two threads; by more, one less
  unsigned whole_up_to = 4;  ///< with so many acquisitions of two or three threads, any number
};

struct checked_client {
  std::string_view name;
  group of;
  std::string_view summary;
  maker make;
  model::client_size size;  ///< the default client size
  model::verdict expected = model::verdict::passed;
  model::settings how{};
  bool offers_try = true;         ///< has try_lock
  bool offers_timed = false;      ///< has try_lock_for, so that client sizes with time-outs apply
  bool has_room_for_two = false;  ///< and perhaps for no more threads
  std::optional<size_bound> bound{};

  /// Returns the default settings of a search at this client size.
  [[nodiscard]] model::settings settings_in(const model::client_size& chosen) const;
};

const std::vector<checked_client>& all_clients();

/// Returns null if there is no client of that name.
const checked_client* find_client(std::string_view name);

std::string_view name_of(group which) noexcept;

}  // namespace lockyard::checker
