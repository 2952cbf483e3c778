// SPDX-License-Identifier: Apache-2.0

// Memory of programs that are not written against a world. The execution learns of it when it is
// used first. It is plain data until an atomic access makes it a word, and plain data again after a
// plain write, as std::atomic_ref and objects in reused memory need.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>

namespace lockyard::model {

std::size_t execution::new_bytes(std::source_location where, const place& lies,
                                 std::optional<origin> written) {
  const origin by = written.value_or(origin{.thread = setter_, .event = 0});
  plains_.push_back({.where = where,
                     .writer = by.thread,
                     .written = by.event,
                     .readers = {},
                     .lies = lies,
                     .changed = {.by = running_, .number = written ? ++changes_of_data_ : 0}});
  return plains_.size() - 1;
}

std::size_t execution::copy_bytes(std::size_t which, const place& lies) {
  plain_record part = plains_[which];
  part.lies = lies;
  plains_.push_back(part);
  return plains_.size() - 1;
}

void execution::write_bytes(std::size_t which, const void* address, const void* type,
                            std::source_location where) {
  plain_record& data = find_plain(which, address, type, where);
  change_plain(data, where);
  note_rewrite(data.lies);
}

void execution::write_own_bytes(std::size_t which, std::source_location where) {
  me().repeats.failed_at = 0;  // a race with this write is looked for to the end
  change_plain(plains_[which], where);
}

/// Ends data of a function that returns. The end itself is visible to no other thread.
void execution::leave_bytes(std::size_t which, std::source_location where) {
  plain_record& data = plains_[which];
  clock others = data.readers;
  others.of[running_] = 0;
  if (!knows_writer(data) || !me().known.current.happened.covers(others)) {
    fail(verdict::lifetime,
         described(data) + " ends although another thread's use does not happen before", where);
  }
  data.is_alive = false;
}

location_index execution::adopt_word(std::span<const std::size_t> bytes, std::uint64_t value,
                                     std::source_location where, std::uint64_t name,
                                     const place& lies) {
  if (memory_.count() >= max_locations) {
    fail(verdict::inconclusive, no_room_for_words(), where);
  }
  origin by{.thread = setter_, .event = 0};
  clock readers;
  bool has_several_writers = false;
  for (const std::size_t which : bytes) {
    plain_record& data = plains_[which];
    if (!knows_writer(data)) {
      fail(verdict::race,
           "accesses " + described(data) + " atomically, which T" + std::to_string(data.writer) +
               " writes without an atomic access at the same time",
           where, &data, std::nullopt);
    }
    readers.join(data.readers);
    data.is_alive = false;
    if (data.written == 0) continue;
    has_several_writers |= by.event != 0 && by.thread != data.writer;
    if (by.event == 0 || by.thread == data.writer) {
      by = {.thread = data.writer, .event = std::max(by.event, data.written)};
    }
  }
  if (has_several_writers) {
    by = {.thread = running_, .event = moment()};
    note_unordered();  // another thread may come first
  }
  if (by.thread == running_ && me().events < by.event) event(created, 0, 0);
  const location_index made = with_known_users(memory_.create(name, value, by, {}, where, lies));
  location& word = memory_.to_change(made);
  word.read_as_plain = readers;
  word.adopted = ++changes_of_data_;
  word.is_written_data = by.event != 0 && !has_several_writers;
  return made;
}

bool execution::is_first_value(location_index which, std::uint64_t value) const {
  const std::vector<message>& all = memory_.at(which).messages;
  return all.front().value == value &&
         std::none_of(all.begin() + 1, all.end(),
                      [value](const message& each) { return each.value == value; });
}

void execution::check_plain_readers(location_index which, std::source_location where) {
  clock others = memory_.at(which).read_as_plain;
  others.of[running_] = 0;
  if (me().known.current.happened.covers(others)) return;
  fail(verdict::race,
       "writes " + described(which) +
           " while another thread reads it without an atomic access at the same time",
       where, nullptr, which);
}

std::uint64_t execution::read_word_as_plain(location_index which, std::source_location where) {
  if (is_plain_turn(memory_.at(which).lies.address)) end_plain_turn(where);
  check_alive(which, where);
  const location& at = memory_.at(which);
  const clock& happened = me().known.current.happened;
  for (const message& each : at.messages) {
    if (each.by.thread == running_ || happened.of[each.by.thread] >= each.by.event) continue;
    fail(verdict::race,
         "reads " + described(which) + " without an atomic access while T" +
             std::to_string(each.by.thread) + " writes it at the same time",
         where, nullptr, which);
  }
  memory_.to_change(which).read_as_plain.of[running_] = moment();
  me().repeats.all_reads.push_back({which, at.order.back()});
  if (account_ != nullptr) {
    tell(where, "reads " + described(which) + " without an atomic access",
         {.kind = "plain read", .word = which});
  }
  return at.newest().value;
}

void execution::end_word_by_plain_write(location_index which, std::source_location where) {
  if (account_ != nullptr) {
    tell(where, "writes " + described(which) + " without an atomic access",
         {.kind = "plain write", .word = which});
  }
  end_word(which, " is written without an atomic access", where, verdict::race);
  memory_.to_change(which).is_overwritten = true;
}

void execution::give_up(std::source_location where, const char* why) {
  has_given_up_ = true;
  event(ended, 1, 0);
  if (account_ != nullptr) tell(where, why);
  me().now = status::stuck;
  for (;;) switch_out();
}

std::optional<execution::stack_place> execution::find_on_stack(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto spot = stacks_.find(at);
  if (!spot) return std::nullopt;
  const auto owner = static_cast<thread_index>(spot->stack);
  const bool is_live =
      owner == running_ || at >= reinterpret_cast<std::uintptr_t>(threads_[owner].context);
  return stack_place{.thread = owner, .from_top = spot->from_top, .is_live = is_live};
}

}  // namespace lockyard::model
