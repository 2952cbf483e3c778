// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

namespace lockyard::simulation {

outcome simulate(const cell& of) {
  engine on{machine{of.shape, of.cost}, of.stops,
            of.scheduler->make(of.parameters, of.shape.processors), of.seed};
  recording kept;
  if (!of.trace_file.empty()) on.record_to(kept);
  add_background(on, of.others);
  named_values values = of.study->run(on, *of.lock, of.settings);
  if (!of.trace_file.empty()) {
    kept.write(of.trace_file,
               std::string{of.study->name} + ", " + std::string{of.lock->traits.name}, on.now());
  }
  return {.values = std::move(values), .counted = on.counted(), .virtual_time = on.now()};
}

}  // namespace lockyard::simulation
