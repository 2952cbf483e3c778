// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <utility>

namespace lockyard::model {

message_index location::insert(message&& written, std::size_t place) {
  const auto index = static_cast<message_index>(messages.size());
  messages.push_back(std::move(written));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), index);
  position.push_back(0);
  for (std::size_t i = place; i < order.size(); ++i) {
    position[order[i]] = static_cast<message_index>(i);
  }
  return index;
}

void memory::reset() noexcept {
  count_ = 0;
  sequential_ = {};
}

location_index memory::create(std::uint64_t name, std::uint64_t value, origin by, const view& known,
                              std::source_location where, const place& lies) {
  location& fresh = locations_[count_];
  fresh.name = name;
  fresh.where = where;
  fresh.messages.clear();
  fresh.order.clear();
  fresh.position.clear();
  fresh.accessed = {};
  fresh.creator = by;
  fresh.ended = {};
  fresh.lies = lies;
  fresh.is_alive = true;
  fresh.insert({.value = value, .released = known, .by = by, .has_successor = false}, 0);
  return static_cast<location_index>(count_++);
}

std::optional<location_index> memory::find(const void* address) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (locations_[i].is_alive && locations_[i].lies.address == address) {
      return static_cast<location_index>(i);
    }
  }
  return std::nullopt;
}

std::optional<location_index> memory::find_last(const void* address) const noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    if (locations_[i].lies.address == address) return static_cast<location_index>(i);
  }
  return std::nullopt;
}

void memory::join(view& to, const view& from) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const auto of = static_cast<location_index>(i);
    if (is_newer(of, from.oldest[i], to.oldest[i])) to.oldest[i] = from.oldest[i];
  }
  to.happened.join(from.happened);
}

void memory::note_read(knowledge& reader, location_index of, message_index read,
                       std::memory_order order) noexcept {
  if (is_newer(of, read, reader.current.oldest[of])) reader.current.oldest[of] = read;
  join(acquires(order) ? reader.current : reader.to_acquire,
       locations_[of].messages[read].released);
}

message_index memory::write(knowledge& writer, location_index of, std::uint64_t value,
                            std::memory_order order, std::size_t place, origin by,
                            const message* continued) {
  message written{.value = value, .released = {}, .by = by, .has_successor = false};
  view inherited;
  if (continued != nullptr) inherited = continued->released;
  location& at = locations_[of];
  const message_index index = at.insert(std::move(written), place);
  writer.current.oldest[of] = index;
  // A release publishes all the thread knows, its own message included; a relaxed write what the
  // last release fence saw, and that message too.
  view& released = at.messages[index].released;
  released = releases(order) ? writer.current : writer.to_release;
  released.oldest[of] = index;
  if (continued != nullptr) join(released, inherited);
  return index;
}

void memory::fence(knowledge& of, std::memory_order order) noexcept {
  if (acquires(order)) join(of.current, of.to_acquire);
  if (order == std::memory_order_seq_cst) {
    // Locations only: a sequentially consistent fence alone makes nothing happen before.
    for (std::size_t i = 0; i < count_; ++i) {
      const auto at = static_cast<location_index>(i);
      if (is_newer(at, sequential_.oldest[i], of.current.oldest[i])) {
        of.current.oldest[i] = sequential_.oldest[i];
      } else {
        sequential_.oldest[i] = of.current.oldest[i];
      }
    }
  }
  if (releases(order)) of.to_release = of.current;
}

void memory::before_sequential(knowledge& of, location_index where) noexcept {
  if (is_newer(where, sequential_.oldest[where], of.current.oldest[where])) {
    of.current.oldest[where] = sequential_.oldest[where];
  }
}

void memory::after_sequential(const knowledge& of, location_index where) noexcept {
  if (is_newer(where, of.current.oldest[where], sequential_.oldest[where])) {
    sequential_.oldest[where] = of.current.oldest[where];
  }
}

hash128 memory::digest() const noexcept {
  hash128 all;
  for (std::size_t i = 0; i < count_; ++i) {
    const location& each = locations_[i];
    hash128 of;
    of.mix(each.name);
    of.mix(each.is_alive ? 1 : 2);
    for (const message_index index : each.order) of.mix(each.messages[index].by.name());
    all.add(of);
  }
  all.mix(sequential_digest());
  return all;
}

hash128 memory::sequential_digest() const noexcept {
  hash128 all;
  for (std::size_t i = 0; i < count_; ++i) {
    const message_index known = sequential_.oldest[i];
    if (known == 0) continue;
    hash128 of;
    of.mix(locations_[i].name);
    of.mix(locations_[i].messages[known].by.name());
    all.add(of);
  }
  return all;
}

}  // namespace lockyard::model
