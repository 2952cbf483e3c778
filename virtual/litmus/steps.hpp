// SPDX-License-Identifier: Apache-2.0
#pragma once

// Litmus tests written as lists of steps: steps<st<X, 1, rel>, ld<0, Y, acq>> stores 1 to x and
// then loads y into register 0.

#include "litmus.hpp"

namespace lockyard::checker::litmus_steps {

using order = std::memory_order;

inline constexpr auto X = &bench::x;
inline constexpr auto Y = &bench::y;
inline constexpr auto Z = &bench::z;

template <auto... Steps>
inline constexpr auto steps = [](bench& t) { (Steps(t), ...); };

template <auto Word, unsigned Value, order Order>
inline constexpr auto st = [](bench& t) { (t.*Word).store(Value, Order); };
template <unsigned Register, auto Word, order Order>
inline constexpr auto ld = [](bench& t) { t.r[Register] = (t.*Word).load(Order); };
template <unsigned Register, auto Word, unsigned Value, order Order>
inline constexpr auto add = [](bench& t) { t.r[Register] = (t.*Word).fetch_add(Value, Order); };
template <unsigned Register, auto Word, unsigned Value, order Order>
inline constexpr auto swap = [](bench& t) { t.r[Register] = (t.*Word).exchange(Value, Order); };
/// The register gets the value found.
template <unsigned Register, auto Word, unsigned Expected, unsigned Desired, order Order,
          order Failure>
inline constexpr auto cas = [](bench& t) {
  t.r[Register] = Expected;
  (t.*Word).compare_exchange_strong(t.r[Register], Desired, Order, Failure);
};
template <order Order>
inline constexpr auto fence = [](bench& /*t*/) { model::model::fence(Order); };
inline constexpr auto full = fence<order::seq_cst>;

/// The registers hold these values, from the first one on.
template <unsigned... Values>
inline constexpr auto reads = [](const bench& t) {
  std::size_t i = 0;
  return ((t.r[i++] == Values) && ...);
};
/// The same, and a word ends with a value.
template <auto Word, unsigned Last, unsigned... Values>
inline constexpr auto ends =
    [](const bench& t) { return reads<Values...>(t) && (t.*Word).load(order::relaxed) == Last; };

}  // namespace lockyard::checker::litmus_steps
