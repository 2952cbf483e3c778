// SPDX-License-Identifier: Apache-2.0
#pragma once

// Faults injected while a client runs: a weakened order, or a dropped wake, at one place of the
// source. The same mechanism lists the places.

#include <atomic>
#include <compare>
#include <cstdint>
#include <set>
#include <source_location>
#include <string>
#include <vector>

namespace lockyard::model {

/// A place in the source, and which of the orders written there is meant.
struct site {
  std::string file;  ///< without its folders
  unsigned line;
  unsigned column;
  unsigned argument;  ///< 0: the order, or the success order; 1: the failure order

  friend auto operator<=>(const site&, const site&) = default;

  static site of(std::source_location where, unsigned argument);
};

inline constexpr unsigned wake_argument = 9;

/// The code at a place: an order, or a wake.
struct site_use {
  site where;
  std::memory_order order;

  friend auto operator<=>(const site_use& a, const site_use& b) {
    if (const auto by_place = a.where <=> b.where; by_place != 0) return by_place;
    return static_cast<int>(a.order) <=> static_cast<int>(b.order);
  }
};

using site_list = std::set<site_use>;

struct mutation {
  site where;
  std::memory_order becomes;  ///< meaningless if a wake is dropped

  [[nodiscard]] bool is_at(std::source_location place, unsigned argument) const;
  [[nodiscard]] bool drops_wake() const noexcept { return where.argument == wake_argument; }
};

/// Returns every way to weaken one order, or drop one wake, of the list.
std::vector<mutation> mutations_of(const site_list& sites);

std::string name_of(std::memory_order order);
/// Returns text such as `file:line:column acquire -> relaxed`.
std::string described(const mutation& of, std::memory_order was);

}  // namespace lockyard::model
