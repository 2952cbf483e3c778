// SPDX-License-Identifier: Apache-2.0
#include "skew.hpp"

#include <algorithm>

namespace lockyard::harness {

void clock_skew::count(const compared_pair& pair, double read_ns) noexcept {
  attempts = std::max(attempts, pair.attempts);
  if (!pair.tightest) return;
  const counter_offset worst{.offset_ns = offset_ns, .uncertainty_ns = uncertainty_ns};
  const bool is_apart = pair.tightest->is_apart(read_ns);
  const bool is_worse = pair.tightest->error_ns() >= worst.error_ns();
  const bool is_first_apart = is_apart && apart == 0;
  if (is_first_apart || (is_worse && is_apart == (apart > 0))) {
    offset_ns = pair.tightest->offset_ns;
    uncertainty_ns = pair.tightest->uncertainty_ns;
  }
  ++pairs;
  if (is_apart) {
    ++apart;
  } else if (pair.tightest->is_too_wide()) {
    ++wide;
  }
}

std::optional<tsc_refusal> refusal_of(bool is_invariant, const clock_skew& skew) noexcept {
  if (!is_invariant) return tsc_refusal::not_invariant;
  if (skew.apart > 0) return tsc_refusal::apart;
  if (skew.pairs < skew.wanted) return tsc_refusal::not_compared;
  if (skew.wide > 0) return tsc_refusal::too_wide;
  return std::nullopt;
}

}  // namespace lockyard::harness
