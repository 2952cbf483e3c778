// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machine's processors, and the processor of each thread, by hwloc.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace lockyard::harness {

/// A condition that is unavailable on this machine; what() is a sentence with cause and remedy.
class condition_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class pinning : std::uint8_t {
  none,     ///< the scheduler decides
  compact,  ///< neighbours first: hyper-threads, then cores, then sockets
  spread,   ///< as far apart as the topology permits
};

/// A named pinning, or the processors to use in turn.
using pin_request = std::variant<pinning, std::vector<int>>;

/// Returns the processors that this process may use, by the system's numbers.
std::vector<int> usable_cpus();

/// Returns one processor per thread (repeated if there are more threads than processors), or none
/// for pinning::none. Throws condition_error if a processor is not usable.
std::vector<int> place(const pin_request& request, unsigned threads);

/// Returns the processors of a study of the machine, each once: the requested ones, or all usable.
std::vector<int> processors_at(const pin_request& request);

/// Returns how many processors threads at these places can keep busy; without places, all usable.
unsigned processors_of(const std::vector<int>& placed);

/// Throws condition_error if the kernel refuses.
void pin_this_thread(int cpu);

/// Returns packages, cores, processors and caches, for the environment record.
nlohmann::ordered_json describe_topology();

}  // namespace lockyard::harness
