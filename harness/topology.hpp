// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which processors there are and which of them each thread runs on, by hwloc.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace lockyard::harness {

/// A condition that this machine cannot provide; what() is a sentence with cause and remedy.
class condition_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class pinning : std::uint8_t {
  none,     ///< the scheduler decides
  compact,  ///< neighbours first: hyper-threads, then cores, then sockets
  spread,   ///< as far apart as the topology allows
};

/// A named pinning, or the processors to use in turn.
using pin_request = std::variant<pinning, std::vector<int>>;

/// The processors that this process may use, by the system's numbers.
std::vector<int> usable_cpus();

/// One processor per thread (repeating when there are more threads than processors), or none at all
/// for pinning::none. Throws condition_error if a processor is not usable.
std::vector<int> place(const pin_request& request, unsigned threads);

/// The processors that a study of the machine is about, each once: those placed at, or all usable.
std::vector<int> processors_at(const pin_request& request);

/// How many processors threads at these places can keep busy; at none: all that are usable.
unsigned processors_of(const std::vector<int>& placed);

/// Throws condition_error if the kernel refuses.
void pin_this_thread(int cpu);

/// Packages, cores, processors and caches, for the environment record.
nlohmann::ordered_json describe_topology();

}  // namespace lockyard::harness
