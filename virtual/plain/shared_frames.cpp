// SPDX-License-Identifier: Apache-2.0
#include "shared_frames.hpp"

#include "program.hpp"

#include <algorithm>
#include <cstring>

namespace lockyard::plain {

namespace {

/// Adds one key to another.
std::uint64_t name(std::uint64_t of, std::uint64_t part) {
  model::hash128 all;
  all.mix(of);
  all.mix(part);
  return all.low | 1U;
}

std::uint64_t name_of_stack(model::thread_index owner) {
  return name(0, owner);
}

struct frame {
  std::uint64_t name;
  std::uintptr_t end;
};

/// A function whose frame begins in the same place has its variables in the same places.
std::optional<frame> frame_at(model::thread_index owner, std::uintptr_t at) {
  const auto place = execution::current()->find_on_stack(reinterpret_cast<const void*>(at));
  const auto in = worker::mine().memory.functions.frame_of(owner, at);
  if (!place || !in) return std::nullopt;
  const std::uintptr_t end_from_top = place->from_top - (in->end - at);
  return frame{.name = name(name(name_of_stack(owner), in->pc), end_from_top), .end = in->end};
}

/// The bits of the bytes that lie in the part of a frame in which the first one lies.
fact_table::bits bits_of(std::uintptr_t first, std::uintptr_t end, std::uintptr_t bytes_each) {
  const std::uintptr_t begin = first % bytes_each;
  const std::uintptr_t count = std::min(end - first, bytes_each - begin);
  return ((fact_table::bits{1} << count) - 1) << begin;
}

/// Clears each byte whose bit is set.
std::uint64_t without(std::uint64_t word, fact_table::bits which) {
  std::array<std::byte, sizeof word> bytes{};
  std::memcpy(bytes.data(), &word, sizeof word);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if ((which >> i & 1U) != 0) bytes.at(i) = {};
  }
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

}  // namespace

shared_frames& frames() {
  static shared_frames all;  // all processes that search share it
  return all;
}

bool shared_frames::note_change(model::thread_index owner, std::uintptr_t at, std::size_t size) {
  const auto in = frame_at(owner, at);
  if (!in || at + size > in->end) return false;
  bool is_new = false;
  for (std::uintptr_t i = at; i < at + size; i = (i / bytes_each + 1) * bytes_each) {
    const bits changed = bits_of(i, at + size, bytes_each);
    const auto before = facts_->add(name(in->name, (in->end - i - 1) / bytes_each), changed);
    if (!before) return false;
    is_new |= (*before & changed) != changed;
  }
  if (!is_new) return true;
  if (!facts_->add(name_of_stack(owner), 1) || !facts_->add(in->name, 1)) return false;
  execution::current()->search_anew();
  return true;
}

bool shared_frames::are_changed(std::uintptr_t at, std::size_t size) const {
  const model::thread_index self = execution::current()->self();
  if (known(name_of_stack(self)) == 0) return false;
  const auto in = frame_at(self, at);
  if (!in || known(in->name) == 0) return false;
  for (std::uintptr_t i = at; i < at + size; i = (i / bytes_each + 1) * bytes_each) {
    const bits these = bits_of(i, at + size, bytes_each);
    if ((known(name(in->name, (in->end - i - 1) / bytes_each)) & these) != 0) return true;
  }
  return false;
}

model::hash128 shared_frames::hash_of(std::span<const std::byte> stack) const {
  const model::thread_index self = execution::current()->self();
  const bool has_some = known(name_of_stack(self)) != 0;
  auto at = reinterpret_cast<std::uintptr_t>(stack.data());
  const std::uintptr_t end = at + stack.size();
  model::hash128 all;
  while (at < end) {
    frame in{.name = 0, .end = end};
    if (has_some) in = frame_at(self, at).value_or(in);
    const std::uintptr_t part_end = std::min(in.end, end);
    const bool is_shared = in.name != 0 && known(in.name) != 0;
    for (; at + sizeof(std::uint64_t) <= part_end; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
      if (is_shared) word = without(word, known(name(in.name, (in.end - at - 1) / bytes_each)));
      all.mix(word);
    }
    at = std::max(at, part_end);
  }
  return all;
}

}  // namespace lockyard::plain
