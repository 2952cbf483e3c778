// SPDX-License-Identifier: Apache-2.0
#include "background.hpp"

#include "engine.hpp"

#include <cmath>

namespace lockyard::simulation {

namespace {

ps burst(const background& of, random_source& chance) {
  const double least = std::pow(of.least_us, of.shape);
  const double most = std::pow(of.most_us, of.shape);
  const double uniform = chance.uniform();
  const double length_us =
      std::pow((most - uniform * (most - least)) / (most * least), -1 / of.shape);
  return static_cast<ps>(length_us * us);
}

}  // namespace

void add_background(engine& to, const background& of) {
  for (int i = 0; i < of.threads; ++i) {
    const double pause_s = of.threads / of.bursts_per_s;
    const std::uint64_t seed = to.chance().next();
    to.spawn(
        [&to, of, pause_s, seed] {
          random_source chance{seed};
          const char bed = 0;
          for (;;) {
            to.sleep(&bed, to.now() + static_cast<ps>(chance.exponential(pause_s) * 1e3 * ms));
            to.compute(burst(of, chance));
          }
        },
        i % to.shape().processors, 1 + i % of.groups, {.priority = 0});
  }
}

}  // namespace lockyard::simulation
