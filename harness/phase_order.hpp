// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of the phases of a run, native and simulated.

namespace lockyard::harness {

/// How often each kind of phase has its turn.
inline constexpr unsigned phase_rounds = 2;

/// Returns the kind of a phase. The kinds take turns, forwards and then backwards.
constexpr unsigned kind_of_phase(unsigned number, unsigned kinds, unsigned first_kind) noexcept {
  const unsigned place = number % kinds;
  const bool forwards = number / kinds % 2 == 0;
  return ((forwards ? place : kinds - 1 - place) + first_kind) % kinds;
}

}  // namespace lockyard::harness
