// SPDX-License-Identifier: Apache-2.0
#include "shadow.hpp"

#include "lasting.hpp"
#include "names.hpp"
#include "program.hpp"
#include "unseen.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

namespace lockyard::plain {

namespace {

execution& now() {
  return *execution::current();
}

const void* pointer(std::uintptr_t at) {
  return reinterpret_cast<const void*>(at);
}

/// All of the shim's plain data has one type: its address says what it is.
constexpr char bytes_tag = 0;

/// False if the memory is in a heap and reaches beyond the object that it begins in.
bool heap_holds(std::uintptr_t begin, std::uintptr_t end) {
  for (const arena* const heap : {&worker::mine().heap, &earlier_heap()}) {
    if (!heap->offset_of(begin)) continue;
    const auto object = heap->find(begin);
    if (!object || end > object->begin + std::max<std::size_t>(object->bytes, 1)) return false;
    // In another order the memory is in no object yet.
    if (!now().comes_after(object->made)) now().note_unordered();
  }
  return true;
}

/// Owners' uses come in the order in which they take memory. Others may find a cell of an object
/// that does not exist yet in another order.
void check_foreign_heap(std::uintptr_t begin, std::uintptr_t end, std::source_location where) {
  const auto owner = worker::mine().heap.owner_of(begin);
  if (!owner || *owner == now().self() || heap_holds(begin, end)) return;
  now().fail(model::verdict::lifetime, "memory outside of every heap object is used", where);
}

/// Whether memory holds what it does before anything is written to it. The code may have written
/// where that was not seen, so the bytes are looked at as well.
bool holds_nothing(std::uintptr_t begin, std::size_t size, std::size_t written) {
  // The compiler announces it when it fills a variable of a basic type, and the code may copy such
  // bytes. A program may have such a value of its own in one or two bytes, but not in four.
  if (written != 0 && size < sizeof(std::uint32_t)) return false;
  const bool is_new = worker::mine().heap.offset_of(begin) || earlier_heap().offset_of(begin) ||
                      now().find_on_stack(pointer(begin));
  const auto* const first = static_cast<const std::byte*>(pointer(begin));
  return is_new &&
         std::all_of(first, first + size, [](std::byte each) { return each == unwritten; });
}

/// The memory of libraries may be anywhere.
bool is_mapped(std::uintptr_t at) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(at / page * page), 1, &resident) == 0 || errno != ENOMEM;
}

model::place place_at(std::uintptr_t at, std::size_t size) {
  return {.address = pointer(at), .size = size, .type = &bytes_tag};
}

}  // namespace

void part::check_written(std::uint64_t value, std::source_location where) const {
  if (was_unwritten && now().is_first_value(word, value)) {
    now().fail(model::verdict::lifetime, "reads memory that nothing has written", where);
  }
}

wide raw_value(std::uintptr_t at, std::size_t size) {
  wide value = 0;
  std::memcpy(&value, pointer(at), size);
  return value;
}

namespace {

/// Values of 16 bytes by number, and numbers by value; the same number always means the same value.
struct numbered_values {
  std::map<wide, std::uint64_t> numbers;
  std::vector<wide> values;
};

numbered_values& numbered() {
  thread_local numbered_values all;
  return all;
}

}  // namespace

std::uint64_t encode(wide value, unsigned unit) {
  if (unit <= sizeof(std::uint64_t)) return static_cast<std::uint64_t>(value);
  numbered_values& all = numbered();
  const auto [at, is_new] = all.numbers.try_emplace(value, all.values.size());
  if (is_new) all.values.push_back(value);
  return at->second;
}

wide decode(std::uint64_t stored, unsigned unit) {
  return unit <= sizeof(std::uint64_t) ? wide{stored} : numbered().values[stored];
}

void shadow::reset() {
  cells_.clear();
  ended_.clear();
  retired_.clear();
  functions.reset();
}

void shadow::widen(std::uintptr_t a, std::size_t a_size, std::uintptr_t b, std::size_t b_size,
                   std::source_location where) {
  unsigned unit = std::bit_ceil(static_cast<unsigned>(std::max(a_size, b_size)));
  const std::uintptr_t end = std::max(a + a_size, b + b_size);
  std::uintptr_t base = std::min(a, b) / unit * unit;
  while (end > base + unit) {
    unit *= 2;
    base = base / unit * unit;
  }
  if (unit > sizeof(wide)) {
    refuse("atomic accesses that overlap have more than 16 bytes together",
           "access one object in one size", where);
  }
  std::erase_if(units_,
                [&](const auto& each) { return each.first >= base && each.first < base + unit; });
  units_[base] = unit;
  begin_again();
  now().fail(model::verdict::assertion, "one word is accessed in several sizes", where);
}

shadow::cells::iterator shadow::first_after(std::uintptr_t at) {
  auto next = cells_.upper_bound(at);
  if (next != cells_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.size > at) return before;
  }
  return next;
}

/// Divides plain data that begins before the address and ends after it.
void shadow::split(std::uintptr_t at) {
  const auto across = first_after(at);
  if (across == cells_.end() || across->first >= at || across->second.is_word) return;
  const cell whole = across->second;
  const std::size_t left = at - across->first;
  const std::size_t right = whole.size - left;
  across->second = {left, now().copy_bytes(whole.which, place_at(across->first, left)), false,
                    whole.is_written};
  cells_[at] = {right, now().copy_bytes(whole.which, place_at(at, right)), false, whole.is_written};
  now().note_replaced(whole.which);
}

void shadow::check_memory(std::uintptr_t begin, std::uintptr_t end,
                          std::source_location where) const {
  for (const ended_memory& each : ended_) {
    if (each.begin >= end || begin >= each.end) continue;
    const std::string name = name_of_memory(pointer(std::max(each.begin, begin)));
    now().fail(model::verdict::lifetime,
               (name.empty() ? "memory" : name) + " is used after its end" + each.ended_by(),
               where);
  }
  if (!heap_holds(begin, end)) {
    now().fail(model::verdict::lifetime, "memory outside of every heap object is used", where);
  }
  const auto on_stack = now().find_on_stack(pointer(begin));
  const bool is_known = on_stack || is_of_module(begin) || worker::mine().heap.offset_of(begin) ||
                        earlier_heap().offset_of(begin);
  if (!is_known && !is_mapped(begin)) {
    now().fail(
        model::verdict::lifetime,
        begin < 4096 ? "a null pointer is dereferenced" : "an address without memory is used",
        where);
  }
  if (on_stack && (!on_stack->is_live || (on_stack->thread != now().self() &&
                                          functions.is_dead(on_stack->thread, begin)))) {
    now().fail(model::verdict::lifetime,
               "a variable of T" + std::to_string(on_stack->thread) +
                   "'s stack is used after its function has returned",
               where);
  }
}

shadow::cells::iterator shadow::add_bytes(std::uintptr_t begin, std::uintptr_t end,
                                          std::source_location where) {
  check_memory(begin, end, where);
  const std::size_t which = now().new_bytes(where, place_at(begin, end - begin));
  return cells_.insert_or_assign(begin, cell{end - begin, which, false}).first;
}

part shadow::word_at(std::uintptr_t at, unsigned size, std::source_location where) {
  note_foreign_use(at);
  lasting().note_use(at, at + size, access_kind::atomic);
  check_foreign_heap(at, at + size, where);
  std::uintptr_t base = at;
  unsigned unit = size;
  if (!units_.empty()) {
    const auto after = units_.upper_bound(at);
    if (after != units_.begin()) {
      const auto& [begin, bytes] = *std::prev(after);
      if (at < begin + bytes) {
        if (at + size > begin + bytes) widen(at, size, begin, bytes, where);
        base = begin;
        unit = bytes;
      }
    }
  }
  const auto known = cells_.find(base);
  if (known != cells_.end() && known->second.is_word && known->second.size == unit) {
    return part_of(base, known->second, at);
  }
  split(at);
  split(at + size);
  for (std::uintptr_t position = at; position < at + size;) {
    const auto next = first_after(position);
    if (next == cells_.end() || next->first > position) {
      check_memory(at, at + size, where);
      break;
    }
    position = next->first + next->second.size;
  }
  return part_of(base, adopt(base, unit, where), at);
}

part shadow::part_of(std::uintptr_t base, const cell& word, std::uintptr_t at) {
  return {.word = static_cast<location_index>(word.which),
          .unit = static_cast<unsigned>(word.size),
          .shift = static_cast<unsigned>(at - base),
          .was_unwritten = word.was_unwritten};
}

const shadow::cell& shadow::adopt(std::uintptr_t base, unsigned unit, std::source_location where) {
  split(base);
  split(base + unit);
  std::vector<std::size_t> pieces;
  std::size_t written = 0;
  for (auto each = first_after(base); each != cells_.end() && each->first < base + unit; ++each) {
    if (each->second.is_word) widen(base, unit, each->first, each->second.size, where);
    if (each->second.is_written) written += each->second.size;
    pieces.push_back(each->second.which);
  }
  if (written < unit) note_unwritten(base);
  const std::uint64_t value = encode(raw_value(base, unit), unit);
  const location_index made =
      now().adopt_word(pieces, value, where, name_of(base), place_at(base, unit));
  cells_.erase(cells_.lower_bound(base), cells_.lower_bound(base + unit));
  return cells_[base] = {.size = unit,
                         .which = made,
                         .is_word = true,
                         .was_unwritten = holds_nothing(base, unit, written)};
}

bool shadow::add_data(std::uintptr_t first, std::uintptr_t end, std::uint64_t changes_before,
                      std::vector<std::size_t>& to) {
  // The variables of a function on the own stack end with it, and are part of the thread's state.
  const auto on_stack = now().find_on_stack(pointer(first));
  const bool is_own = on_stack && on_stack->thread == now().self();
  bool has_changed = false;
  for (std::uintptr_t position = first; position < end;) {
    const auto next = first_after(position);
    if (next == cells_.end() || next->first > position) {
      has_changed |= !is_own;
      position = next == cells_.end() ? end : next->first;
      continue;
    }
    const auto& [begin, found] = *next;
    position = begin + found.size;
    if (found.is_word) {
      // A read of a word is known to the engine, one of what became a word since is not.
      has_changed |=
          now().change_to_word(static_cast<location_index>(found.which)) > changes_before;
      continue;
    }
    const model::last_change& last = now().last_change_of(found.which);
    has_changed |= last.by != now().self() && last.number > changes_before;
    if (std::ranges::find(to, found.which) == to.end()) to.push_back(found.which);
  }
  return has_changed;
}

void shadow::put(std::uintptr_t begin, const cell& word, std::uint64_t value) {
  const wide bytes = decode(value, static_cast<unsigned>(word.size));
  std::memcpy(reinterpret_cast<void*>(begin), &bytes, word.size);
}

void shadow::refresh(std::uintptr_t at) {
  const auto found = first_after(at);
  if (found == cells_.end() || found->first > at || !found->second.is_word) return;
  put(found->first, found->second,
      now().newest_value(static_cast<location_index>(found->second.which)));
}

void shadow::read_plain(std::uintptr_t at, std::size_t size, std::source_location where) {
  note_foreign_use(at);
  const std::uintptr_t end = at + size;
  lasting().note_use(at, end, access_kind::read);
  check_foreign_heap(at, end, where);
  split(at);
  split(end);
  for (std::uintptr_t position = at; position < end;) {
    auto next = first_after(position);
    if (next == cells_.end() || next->first > position) {
      next = add_bytes(position, next == cells_.end() ? end : std::min(end, next->first), where);
    }
    const auto [begin, found] = *next;  // copies: another thread may go on meanwhile
    if (found.is_word) {
      const auto which = static_cast<location_index>(found.which);
      put(begin, found, now().read_word_as_plain(which, where));
      note_foreign_change(begin, found.size);
    } else {
      if (!found.is_written) note_unwritten(begin);
      now().read_plain(found.which, pointer(begin), &bytes_tag, where);
    }
    position = begin + found.size;
  }
}

shadow::target shadow::write_plain(std::uintptr_t at, std::size_t size,
                                   std::source_location where) {
  note_foreign_use(at);
  note_foreign_change(at, size);
  const std::uintptr_t end = at + size;
  lasting().note_use(at, end, access_kind::write);
  check_foreign_heap(at, end, where);
  use_again(at, end);
  split(at);
  split(end);
  const auto on_stack = now().find_on_stack(pointer(at));
  const bool is_own = on_stack && on_stack->thread == now().self();
  bool is_word = false;
  for (std::uintptr_t position = at; position < end;) {
    auto next = first_after(position);
    if (next == cells_.end() || next->first > position) {
      next = add_bytes(position, next == cells_.end() ? end : std::min(end, next->first), where);
    } else if (next->second.is_word) {
      const auto which = static_cast<location_index>(next->second.which);
      const auto unit = static_cast<unsigned>(next->second.size);
      // A write to a part of it leaves the rest as it was.
      if (next->first < at || next->first + unit > at + size) {
        put(next->first, next->second, now().read_word_as_plain(which, where));
      }
      worker::mine().locks.check_free(next->first, "a lock is overwritten", where);
      now().end_word_by_plain_write(which, where);
      next = add_bytes(next->first, next->first + unit, where);
      is_word = true;
    }
    auto& [begin, found] = *next;
    found.is_written = true;
    if (is_own) {
      now().write_own_bytes(found.which, where);
    } else {
      now().write_bytes(found.which, pointer(begin), &bytes_tag, where);
    }
    position = begin + found.size;
  }
  if (is_word) return target::word;
  return is_own ? target::variable : target::data;
}

void shadow::release(std::uintptr_t begin, std::uintptr_t end, std::source_location where) {
  split(begin);
  split(end);
  const auto first = cells_.lower_bound(begin);
  auto last = first;
  for (; last != cells_.end() && last->first < end; ++last) {
    const cell& each = last->second;
    if (each.is_word) {
      worker::mine().locks.check_free(last->first, "a lock ends", where);
      now().destroy(static_cast<location_index>(each.which), where);
    } else {
      now().leave_bytes(each.which, where);
    }
  }
  cells_.erase(first, last);
}

void shadow::end(std::uintptr_t begin, std::uintptr_t end, std::source_location where) {
  lasting().note_use(begin, end, access_kind::write);
  release(begin, end, where);
  ended_.push_back({.begin = begin, .end = end, .by = now().self(), .where = where});
}

void shadow::leave(std::uintptr_t frame_end, std::source_location where) {
  const auto on_stack = now().find_on_stack(pointer(frame_end));
  if (!on_stack || on_stack->thread != now().self()) return;
  functions.leave(frame_end);
  const std::uintptr_t bottom = frame_end + on_stack->from_top - model::fiber_stacks::bytes;
  const auto first = cells_.lower_bound(bottom);
  if (first == cells_.end() || first->first >= frame_end) return;
  release(bottom, frame_end, where);
}

void shadow::leave_all(std::source_location where) {
  if (const std::uintptr_t end = functions.outermost(); end != 0) leave(end, where);
}

void shadow::forget(std::uintptr_t begin, std::uintptr_t end) {
  split(begin);
  split(end);
  const auto first = cells_.lower_bound(begin);
  const auto last = cells_.lower_bound(end);
  for (auto each = first; each != last; ++each) {
    if (!each->second.is_word) now().note_replaced(each->second.which);
  }
  cells_.erase(first, last);
}

void shadow::retire(std::uintptr_t begin, std::uintptr_t end, std::source_location where) {
  lasting().note_use(begin, end, access_kind::write);
  release(begin, end, where);
  retired_.emplace_back(begin, end);
  // A use that is not ordered after the end races with it, as one before it does.
  const std::size_t which =
      now().new_bytes(where, place_at(begin, end - begin), now().here_and_now());
  cells_[begin] = {end - begin, which, false};
}

/// The rest of an object that has ended stays unusable.
void shadow::use_again(std::uintptr_t begin, std::uintptr_t end) {
  ranges rest;
  std::erase_if(retired_, [&](const auto& each) {
    if (each.first >= end || begin >= each.second) return false;
    if (each.first < begin) rest.emplace_back(each.first, begin);
    if (end < each.second) rest.emplace_back(end, each.second);
    return true;
  });
  retired_.insert(retired_.end(), rest.begin(), rest.end());
}

bool shadow::covers(const ranges& all, std::uintptr_t at) {
  return std::ranges::any_of(
      all, [at](const auto& each) { return each.first <= at && at < each.second; });
}

std::string shadow::ended_memory::ended_by() const {
  if (where.line() == 0) return {};
  return ", which T" + std::to_string(by) + " has ended at " + model::file_name(where.file_name()) +
         ":" + std::to_string(where.line());
}

std::optional<std::string> shadow::ended_by(std::uintptr_t at) const {
  const auto found = std::ranges::find_if(
      ended_, [at](const auto& each) { return each.begin <= at && at < each.end; });
  if (found == ended_.end()) return std::nullopt;
  return found->ended_by();
}

bool shadow::is_word(std::uintptr_t begin) const {
  const auto found = cells_.find(begin);
  return found != cells_.end() && found->second.is_word;
}

bool shadow::is_retired(std::uintptr_t at) const {
  return covers(retired_, at);
}

}  // namespace lockyard::plain
