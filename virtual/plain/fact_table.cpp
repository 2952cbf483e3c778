// SPDX-License-Identifier: Apache-2.0
#include "fact_table.hpp"

#include <model/hash.hpp>

namespace lockyard::plain {

/// Keys stay where they are, so a key that has found no room finds none later.
fact_table::entry* fact_table::place_of(std::uint64_t key) const {
  table& all = *static_cast<table*>(memory_.at());  // zeroes: entries without a key
  model::hash128 hash;
  hash.mix(key);
  for (std::size_t i = 0; i < most_probes; ++i) {
    entry& here = all[(hash.low + i) % entries];
    // relaxed(atomicity): a key stands for itself alone, and is never changed.
    std::uint64_t found = here.key.load(std::memory_order_relaxed);
    // relaxed(atomicity): as above.
    if (found == 0) here.key.compare_exchange_strong(found, key, std::memory_order_relaxed);
    if (found == 0 || found == key) return &here;
  }
  return nullptr;
}

std::optional<fact_table::bits> fact_table::known(std::uint64_t key) const {
  const entry* const here = place_of(key);
  if (here == nullptr) return std::nullopt;
  // relaxed(atomicity): bits stand for themselves alone.
  return here->facts.load(std::memory_order_relaxed);
}

std::optional<fact_table::bits> fact_table::add(std::uint64_t key, bits more) {
  entry* const here = place_of(key);
  if (here == nullptr) return std::nullopt;
  // relaxed(atomicity): as above.
  const bits before = here->facts.load(std::memory_order_relaxed);
  if ((before & more) == more) return before;
  // relaxed(atomicity): of two changes of one word, the second sees the first.
  return here->facts.fetch_or(more, std::memory_order_relaxed);
}

}  // namespace lockyard::plain
