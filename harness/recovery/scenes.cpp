// SPDX-License-Identifier: Apache-2.0
#include "scenes.hpp"

#include <cmath>
#include <numeric>
#include <string_view>

namespace lockyard::harness {

std::uint64_t answer_counts::errors() const noexcept {
  return std::accumulate(counts_.begin() + 1, counts_.end(), std::uint64_t{0});
}

nlohmann::ordered_json answer_counts::to_json() const {
  constexpr std::array<std::string_view, 5> names{"acquired", "deadlock", "timed_out", "owner_dead",
                                                  "nested_busy"};
  static_assert(names.size() == std::tuple_size_v<decltype(counts_)>);
  auto found = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < counts_.size(); ++i) found[std::string{names[i]}] = counts_[i];
  return found;
}

void pass_part_of(double most_ns, std::uint64_t round) {
  constexpr double golden_section = 0.6180339887498949;
  double whole = 0;
  const double part = std::modf(static_cast<double>(round) * golden_section, &whole);
  const ticks end = clock::now() + clock::from_ns(part * most_ns);
  while (clock::now() < end) sched_yield();
}

}  // namespace lockyard::harness
