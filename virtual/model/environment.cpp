// SPDX-License-Identifier: Apache-2.0

// A thread's other requests: time, chance, plain data, its own states; and their descriptions.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace lockyard::model {

std::size_t execution::new_deadline(passes when, bool waits_only) {
  deadlines_.push_back({.when = when, .waits_only = waits_only});
  event(asked_time, 0, deadlines_.size());
  return first_deadline + deadlines_.size() - 1;
}

bool execution::may_pass(const end_of_wait& which) const {
  return which.has_passed || (which.when == passes::early && timeouts_left_ > 0);
}

void execution::pass(end_of_wait& which) {
  if (which.has_passed) return;
  which.has_passed = true;
  if (which.when == passes::early) ++hours_;
  unsigned& left = which.when == passes::early ? timeouts_left_ : short_spins_left_;
  if (left > 0) --left;
}

/// A spin that ends later behaves like a thread that comes later and does not look at all.
bool execution::gives_up(end_of_wait& which, std::source_location where) {
  if (which.when != passes::of_spin || is_set_up()) return false;
  if (which.has_passed) return true;
  if (short_spins_left_ == 0) use_up(cap::short_spins);
  if (short_spins_left_ == 0 || choose(choice_kind::time, 2, where) == 0) return false;
  pass(which);
  return true;
}

bool execution::has_passed(std::size_t deadline, std::source_location where) {
  step_point({});
  auto& which = end_of(deadline);
  if (!which.has_passed && which.when == passes::early && timeouts_left_ == 0)
    use_up(cap::timeouts);
  if (!which.has_passed && may_pass(which) && choose(choice_kind::time, 2, where) == 1) pass(which);
  event(asked_time, 1, which.has_passed ? 1 : 0);
  if (account_ != nullptr) {
    tell(where, which.has_passed ? "the deadline has passed" : "the deadline has not passed");
  }
  return which.has_passed;
}

bool execution::time_jumps(std::source_location where) {
  if (std::exchange(me().repeats.time_has_passed, false)) {
    event(asked_time, 2, 1);
    return true;
  }
  if (timeouts_left_ == 0) use_up(cap::timeouts);
  const bool jumps = timeouts_left_ > 0 && choose(choice_kind::time, 2, where) == 1;
  if (jumps) --timeouts_left_;
  event(asked_time, 2, jumps ? 1 : 0);
  return jumps;
}

std::uint64_t execution::hours_passed(std::source_location where) {
  step_point({});
  note_unordered();  // what the clock shows depends on the steps of all threads before
  if (time_jumps(where)) ++hours_;
  event(asked_time, 3, hours_);
  me().repeats.hours = hours_;
  if (account_ != nullptr) {
    tell(where, "reads the time: " + std::to_string(hours_) + " h after the beginning");
  }
  return hours_;
}

unsigned execution::random(unsigned count, std::source_location where) {
  const unsigned taken = choose(choice_kind::failure, count, where);
  event(drew, taken, 0);
  return taken;
}

std::size_t execution::new_plain(std::source_location where, bool of_process, const place& lies,
                                 std::optional<std::size_t> value_size) {
  // Objects of the process existed before all threads, in their own memory.
  if (!of_process) take_memory(occupant::of(lies, plains_.size(), false), where);
  note_object_at(lies.address);
  const thread_index writer = of_process ? setter_ : running_;
  const std::uint16_t written = of_process ? 0 : moment();
  act(me());
  has_opaque_data_ |= !value_size;
  plains_.push_back({.where = where,
                     .writer = writer,
                     .written = written,
                     .readers = {},
                     .lies = lies,
                     .value_size = value_size.value_or(0)});
  return plains_.size() - 1;
}

void execution::end_plain(std::size_t hint, const void* address, const void* type,
                          std::source_location where) {
  end_plain(find_plain(hint, address, type, where), "ends", where);
}

void execution::end_plain(plain_record& data, const char* how, std::source_location where) {
  clock others = data.readers;
  others.of[running_] = 0;
  if (!knows_writer(data) || !me().known.current.happened.covers(others)) {
    fail(verdict::lifetime,
         std::string{"plain data "} + how + " although another thread's use does not happen before",
         where);
  }
  act(me());
  note_object_at(data.lies.address);
  data.is_alive = false;
  data.writer = running_;
  data.written = moment();
}

/// Works like find_word().
plain_record& execution::find_plain(std::size_t hint, const void* address, const void* type,
                                    std::source_location where) {
  const auto is_there = [&](const plain_record& data) {
    return data.is_alive && data.lies.address == address && data.lies.type == type;
  };
  if (hint < plains_.size() && is_there(plains_[hint])) return plains_[hint];
  const auto there = std::ranges::find_if(plains_, is_there);
  if (there == plains_.end()) fail(verdict::lifetime, "plain data is used after its end", where);
  return *there;
}

bool execution::knows_writer(const plain_record& data) {
  return data.writer == running_ || me().known.current.happened.of[data.writer] >= data.written;
}

/// A frame of its own: what it leaves on the stack is cleared before the next turn is noted.
[[gnu::noinline]] void execution::read_plain_now(std::size_t hint, const void* address,
                                                 const void* type, std::source_location where) {
  plain_record& data = find_plain(hint, address, type, where);
  if (!knows_writer(data)) {
    fail(verdict::race,
         "reads " + described(data) + " that T" + std::to_string(data.writer) +
             " writes at the same time",
         where, &data, std::nullopt);
  }
  data.readers.of[running_] = moment();
  if (gives_account() && !is_set_up()) {
    tell(where, "reads " + described(data), {.kind = "plain read", .data = &data});
  }
}

void execution::write_plain(std::size_t hint, const void* address, const void* type,
                            std::source_location where) {
  plain_record& data = find_plain(hint, address, type, where);
  change_plain(data, where);
  act(me());
}

void execution::change_plain(plain_record& data, std::source_location where) {
  clock others = data.readers;
  others.of[running_] = 0;
  if (!knows_writer(data) || !me().known.current.happened.covers(others)) {
    fail(verdict::race, "writes " + described(data) + " that another thread uses at the same time",
         where, &data, std::nullopt);
  }
  data.writer = running_;
  data.written = moment();
  data.changed = {.by = running_, .number = ++changes_of_data_};
  // An interleaving begins with the threads; the making of the client needs no line.
  if (gives_account() && !is_set_up()) {
    tell(where, "writes " + described(data), {.kind = "plain write", .data = &data});
  }
}

void*& execution::state_of(const kind_of_state& kind, std::size_t owner) {
  for (state_entry& each : states_) {
    if (each.kind->type == kind.type && each.owner == owner) return each.object;
  }
  states_.push_back({.kind = &kind, .owner = owner, .object = nullptr});
  return states_.back().object;
}

void* execution::memory_for(const kind_of_state& kind, std::size_t owner) {
  for (room_for_state& each : rooms_) {
    if (each.kind->type != kind.type || each.owner != owner || each.is_taken) continue;
    each.is_taken = true;
    std::memset(each.begin, 0, kind.size);
    return each.begin;
  }
  const std::size_t alignment = std::max(kind.alignment, alignment_of_room);
  std::size_t room = with_room(kind.size) + alignment;
  auto memory = std::make_unique<std::byte[]>(room);
  void* begin = memory.get();
  std::align(alignment, kind.size, begin, room);
  rooms_.push_back({.kind = &kind,
                    .owner = owner,
                    .memory = std::move(memory),
                    .begin = begin,
                    .is_taken = true});
  return begin;
}

/// A destructor may let other threads go on, which create and end their own states meanwhile.
void execution::end_states(std::size_t owner) {
  for (;;) {
    const auto last = std::find_if(states_.rbegin(), states_.rend(),
                                   [=](const state_entry& each) { return each.owner == owner; });
    if (last == states_.rend()) return;
    const state_entry ended = *last;
    ended.kind->end(ended.object);
    std::erase_if(states_, [&](const state_entry& each) {
      return each.kind->type == ended.kind->type && each.owner == owner;
    });
  }
}

std::string execution::described(const plain_record& data) {
  const std::string name =
      name_of_memory == nullptr ? std::string{} : name_of_memory(data.lies.address);
  return name.empty() ? "plain data" : "plain data " + name;
}

std::string execution::described(location_index which) {
  if (name_of_memory != nullptr) {
    if (std::string name = name_of_memory(memory_.at(which).lies.address); !name.empty()) {
      return name;
    }
  }
  // Several members of an object are created at one place: their order tells them apart.
  const std::source_location where = memory_.at(which).where;
  unsigned ordinal = 1;
  for (location_index i = 0; i < which; ++i) {
    const std::source_location other = memory_.at(i).where;
    if (other.line() == where.line() && other.file_name() == where.file_name()) ++ordinal;
  }
  return "word " + std::to_string(ordinal) + " of " + file_name(where.file_name()) + ":" +
         std::to_string(where.line());
}

std::string execution::by_whom(const message& read) const {
  if (read.by.thread == setter_) return " (initial)";
  return read.by.thread == running_ ? " (its own)"
                                    : " (by T" + std::to_string(read.by.thread) + ")";
}

}  // namespace lockyard::model
