// SPDX-License-Identifier: Apache-2.0

// An uncontended pair of every lock of the catalogue, by its place there, for pair_code.py.

#include <lockyard/catalog.hpp>

#include <cstddef>
#include <tuple>
#include <utility>

using catalogue = decltype(lockyard::catalog);

template <std::size_t Place>
using lock_at = typename std::tuple_element_t<Place, catalogue>::lock_type;

// Flattened, because the pairs of so many locks in one file exceed what the compiler inlines.
template <std::size_t Place>
[[gnu::flatten]] void pair_at(lock_at<Place>& lock, int& counter) {
  lock.lock();
  ++counter;
  lock.unlock();
}

template <std::size_t... Places>
constexpr auto pairs_at(std::index_sequence<Places...>) {
  return std::tuple{&pair_at<Places>...};
}

extern const auto pairs = pairs_at(std::make_index_sequence<std::tuple_size_v<catalogue>>{});
