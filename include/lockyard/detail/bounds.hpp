// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replacements for std::min and std::max, for headers that every mutex includes: <algorithm> adds
// a quarter to the size of <mutex>.

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
