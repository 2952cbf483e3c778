// SPDX-License-Identifier: Apache-2.0
#include "rewritten.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lockyard::model {

bool rewritten_memory::note(const void* at, std::size_t size) {
  const auto* const first = static_cast<const std::byte*>(at);
  const auto is_there = [&](const part& each) {
    return each.at == first && each.before.size() >= size;
  };
  if (std::ranges::any_of(all_, is_there)) return true;
  if (all_.size() == most_parts || bytes_ + size > most_bytes) return false;
  all_.push_back({.at = first, .before = {first, first + size}});
  bytes_ += size;
  return true;
}

void rewritten_memory::clear() {
  all_.clear();
  bytes_ = 0;
}

void rewritten_memory::mix_changes(hash128& all) const {
  for (const part& each : all_) {
    const std::size_t size = each.before.size();
    if (std::memcmp(each.at, each.before.data(), size) == 0) continue;
    all.mix(reinterpret_cast<std::uintptr_t>(each.at));
    for (std::size_t i = 0; i < size; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, each.at + i, std::min(sizeof word, size - i));
      all.mix(word);
    }
  }
}

}  // namespace lockyard::model
