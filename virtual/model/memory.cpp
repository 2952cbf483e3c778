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
  order_.reset();
  if (has_asymmetric_) {
    known_at_fence_.fill({});
    known_to_heavy_ = {};
    has_asymmetric_ = false;
  }
}

void memory::copy(const memory& from) {
  for (std::size_t i = 0; i < from.count_; ++i) {
    if (locations_[i].version != from.locations_[i].version) locations_[i] = from.locations_[i];
  }
  count_ = from.count_;
  order_ = from.order_;
  if (!has_asymmetric_ && !from.has_asymmetric_) return;
  known_at_fence_ = from.known_at_fence_;
  known_to_heavy_ = from.known_to_heavy_;
  has_asymmetric_ = from.has_asymmetric_;
}

location_index memory::create(std::uint64_t name, std::uint64_t value, origin by, const view& known,
                              std::source_location where, const place& lies) {
  location& fresh = to_change(static_cast<location_index>(count_));
  fresh.name = name;
  fresh.where = where;
  fresh.messages.clear();
  fresh.order.clear();
  fresh.position.clear();
  fresh.accessed = {};
  fresh.read_as_plain = {};
  fresh.creator = by;
  fresh.ended = {};
  fresh.lies = lies;
  fresh.users = {};
  fresh.notified = 0;
  fresh.adopted = 0;
  fresh.is_written_data = false;
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
  join_messages(to, from);
  to.happened.join(from.happened);
}

void memory::join_messages(view& to, const view& from) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const auto of = static_cast<location_index>(i);
    if (to.oldest[i] == from.oldest[i]) {
      if (from.has_read[i]) to.has_read.set(i);
    } else if (is_newer(of, from.oldest[i], to.oldest[i])) {
      to.oldest[i] = from.oldest[i];
      to.has_read[i] = from.has_read[i];
    }
  }
}

void memory::note_read(knowledge& reader, location_index of, message_index read,
                       std::memory_order order) noexcept {
  view& current = reader.current;
  if (is_newer(of, read, current.oldest[of])) current.oldest[of] = read;
  if (current.oldest[of] == read) current.has_read.set(of);
  join(acquires(order) ? current : reader.to_acquire, locations_[of].messages[read].released);
}

/// A view that covers another one's clock covers all of it: a thread's events carry what it knew.
bool memory::tells_no_more(const knowledge& reader, location_index of, message_index one,
                           message_index other, std::memory_order order) const noexcept {
  const auto& messages = locations_[of].messages;
  clock known = messages[other].released.happened;
  known.join(reader.current.happened);
  // The next acquire fence makes known all that relaxed reads were told.
  if (!acquires(order)) known.join(reader.to_acquire.happened);
  return known.covers(messages[one].released.happened);
}

void memory::read(knowledge& reader, location_index of, message_index read, std::memory_order order,
                  origin by) {
  location& at = to_change(of);
  const access how{by.thread, order};
  const evaluation mine{
      .thread = by.thread, .event = by.event, .happened = reader.current.happened};
  const auto point = coherence_point::of_read(of, at.position[read]);
  order_.access(mine, how.sequential, point, at, read, false);
  if (order_.has_fences()) at.messages[read].read_at.join(reader.current.happened);
  note_read(reader, of, read, order);
}

message_index memory::write(knowledge& writer, location_index of, std::uint64_t value,
                            std::memory_order order, std::size_t place, origin by) {
  put(writer, of, value, order, place, by, nullptr, writer.current.happened);
  return writer.current.oldest[of];
}

message_index memory::change(knowledge& writer, location_index of, message_index read,
                             std::uint64_t value, std::memory_order order, origin by) {
  location& at = to_change(of);
  at.messages[read].has_successor = true;
  const clock before = writer.current.happened;  // what it acquires does not come before it
  const view inherited = at.messages[read].released;
  note_read(writer, of, read, order);
  put(writer, of, value, order, at.position[read] + std::size_t{1}, by, &inherited, before);
  return writer.current.oldest[of];
}

/// A release publishes all the thread knows, its own message included; a relaxed write what the
/// last release fence saw, and that message too.
void memory::put(knowledge& writer, location_index of, std::uint64_t value, std::memory_order order,
                 std::size_t place, origin by, const view* inherited, const clock& happened) {
  location& at = to_change(of);
  const message_index index =
      at.insert({.value = value, .released = {}, .by = by, .has_successor = false}, place);
  const access how{by.thread, order};
  const evaluation mine{.thread = by.thread, .event = by.event, .happened = happened};
  order_.access(mine, how.sequential, coherence_point::of_write(of, place), at, index, true);
  message& written = at.messages[index];
  if (order_.has_fences()) written.written_at = happened;
  writer.current.oldest[of] = index;
  writer.current.has_read.reset(of);
  written.released = releases(order) ? writer.current : writer.to_release;
  written.released.oldest[of] = index;
  written.released.has_read.reset(of);
  if (inherited != nullptr) join(written.released, *inherited);
}

void memory::fence(knowledge& of, std::memory_order order, origin by) {
  const clock before = of.current.happened;  // what it acquires does not come before it
  if (acquires(order)) join(of.current, of.to_acquire);
  if (order == std::memory_order_seq_cst && by.thread != setup_thread) {
    const evaluation mine{.thread = by.thread, .event = by.event, .happened = before};
    order_.fence(mine, of.current, std::span{locations_}.first(count_));
  }
  if (releases(order)) of.to_release = of.current;
}

void memory::light_fence(knowledge& of, thread_index by) {
  has_asymmetric_ = true;
  join_messages(of.current, known_to_heavy_);
  known_at_fence_[by] = of.current;
}

void memory::heavy_fence(knowledge& of, origin by) {
  has_asymmetric_ = true;
  for (const view& each : known_at_fence_) join_messages(of.current, each);
  fence(of, std::memory_order_seq_cst, by);
  join_messages(known_to_heavy_, of.current);
  known_at_fence_[by.thread] = of.current;
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
  return all;
}

}  // namespace lockyard::model
