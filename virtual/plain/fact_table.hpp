// SPDX-License-Identifier: Apache-2.0
#pragma once

// What all executions of a search have shown, in all processes that search: a set of bits for each
// key, which only grows.

#include <model/shared_memory.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockyard::plain {

class fact_table {
 public:
  using bits = std::uint64_t;

  /// Returns what was known before; nothing, now and always, if there is no room for the key.
  [[nodiscard]] std::optional<bits> known(std::uint64_t key) const;
  /// The same, and adds to it. Of two calls with one key, one sees what the other has added.
  std::optional<bits> add(std::uint64_t key, bits more);

 private:
  struct entry {
    std::atomic<std::uint64_t> key;  ///< 0: none
    std::atomic<bits> facts;
  };
  static constexpr std::size_t entries = std::size_t{1} << 20U;
  static constexpr std::size_t most_probes = 64;
  using table = std::array<entry, entries>;

  [[nodiscard]] entry* place_of(std::uint64_t key) const;

  model::shared_memory memory_{sizeof(table)};
};

}  // namespace lockyard::plain
