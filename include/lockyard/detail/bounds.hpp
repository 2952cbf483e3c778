// SPDX-License-Identifier: Apache-2.0
#pragma once

// What <algorithm> has as std::min and std::max, for headers of which every mutex includes the
// whole: <algorithm> alone is a quarter of <mutex> again.

namespace lockyard::inline v0::detail {

template <class T>
constexpr T at_least(T value, T least) noexcept {
  return value < least ? least : value;
}

template <class T>
constexpr T at_most(T value, T most) noexcept {
  return most < value ? most : value;
}

}  // namespace lockyard::inline v0::detail
