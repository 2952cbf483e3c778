// SPDX-License-Identifier: Apache-2.0

// Atomic objects begin and end, and memory is used again.

#include "events.hpp"
#include "execution.hpp"

#include <algorithm>

namespace lockyard::model {

void execution::check_alive(location_index which, std::source_location where) {
  if (which >= memory_.count()) fail(verdict::lifetime, "memory of no living word is used", where);
  const location& at = memory_.at(which);
  const auto is_news = [this](const origin& of) {
    return me().known.current.happened.of[of.thread] < of.event;
  };
  const auto fail_for_plain_write = [&](thread_index by) {
    fail(verdict::race,
         "accesses " + described(which) + " atomically, which T" + std::to_string(by) +
             " writes without an atomic access at the same time",
         where, nullptr, which);
  };
  if (!at.is_alive) {
    if (at.is_overwritten && is_news(at.ended)) fail_for_plain_write(at.ended.thread);
    fail(verdict::lifetime, described(which) + " is used after its end", where);
  }
  if (is_news(at.creator)) {
    if (at.is_written_data) fail_for_plain_write(at.creator.thread);
    fail(verdict::lifetime, described(which) + " is used by a thread that cannot know it exists",
         where);
  }
  memory_.to_change(which).accessed.of[running_] = static_cast<std::uint16_t>(me().events + 1);
}

/// The key of another thread's code leaves out the objects on its stack.
void execution::note_object_at(const void* address) noexcept {
  const auto spot = stacks_.find(reinterpret_cast<std::uintptr_t>(address));
  if (!spot || spot->stack == running_) return;
  known_code& changed = threads_[spot->stack].code;
  changed.is_lasting = false;
  changed.name = 0;
  ++steps_back_;
}

location_index execution::create(std::uint64_t value, std::source_location where,
                                 std::uint64_t name, const place& lies) {
  if (memory_.count() >= max_locations) {
    fail(verdict::inconclusive, no_room_for_words(), where);
  }
  // Objects of the process existed before all threads, in their own memory.
  if (name != 0) {
    return with_known_users(
        memory_.create(name, value, {.thread = setter_, .event = 0}, {}, where, lies));
  }
  take_memory(occupant::of(lies, memory_.count(), true), where);
  note_object_at(lies.address);
  thread_record& thread = me();
  event(created, 0, 0);
  name = (std::uint64_t{running_} + 1) << 32U | ++thread.created;
  return with_known_users(memory_.create(name, value, {.thread = running_, .event = thread.events},
                                         thread.known.current, where, lies));
}

void execution::destroy(location_index which, std::source_location where) {
  end_word(which, " is destroyed", where);
}

void execution::end_word(location_index which, const char* how, std::source_location where,
                         verdict unless) {
  const location& at = memory_.at(which);
  clock others = at.accessed;
  others.join(at.read_as_plain);  // also what was read before it became a word
  others.of[running_] = 0;
  const clock& happened = me().known.current.happened;
  if (!happened.covers(others) || happened.of[at.creator.thread] < at.creator.event) {
    fail(unless, described(which) + how + " although another thread's use does not happen before",
         where);
  }
  if (!sleepers_[which].empty()) {
    fail(unless,
         described(which) + how + " while T" + std::to_string(sleepers_[which].front()) +
             " sleeps on it",
         where);
  }
  event(destroyed, at.name, 0);
  note_object_at(at.lies.address);
  location& ended = memory_.to_change(which);
  ended.ended = {.thread = running_, .event = me().events};
  ended.is_alive = false;
}

location_index execution::find_word(location_index hint, const void* address, const void* type,
                                    std::source_location where) {
  const auto is_there = [&](location_index which) {
    const location& at = memory_.at(which);
    return at.is_alive && at.lies.address == address && at.lies.type == type;
  };
  if (hint < memory_.count() && is_there(hint)) return hint;
  const auto there = memory_.find(address);
  if (there && is_there(*there)) return *there;
  if (there) {
    fail(verdict::lifetime, described(*there) + " is used as the word of another type before it",
         where);
  }
  const auto last = memory_.find_last(address);
  fail(verdict::lifetime,
       last ? described(*last) + " is used after its end" : "memory of no living word is used",
       where);
}

/// Makes an object in memory that other objects may have used: they have ended, and their ends
/// happen before; or they end now without a destructor, as C++ permits.
void execution::take_memory(const occupant& by, std::source_location where) {
  std::erase_if(occupants_, [&](const occupant& before) {
    if (before.begin >= by.end || by.begin >= before.end) return false;
    if (!before.is_word) {
      end_plain(plains_[before.which], "is built over", where);
    } else {
      const auto which = static_cast<location_index>(before.which);
      const location& at = memory_.at(which);
      if (account_ != nullptr) tell(where, "takes the memory of " + described(which));
      if (at.is_alive) {
        end_word(which, " is built over", where);
      } else if (me().known.current.happened.of[at.ended.thread] < at.ended.event) {
        fail(verdict::lifetime,
             described(which) + " is built over, but its end does not happen before", where);
      }
    }
    // Events after the new object come after this one.
    return by.begin <= before.begin && before.end <= by.end;
  });
  occupants_.push_back(by);
}

}  // namespace lockyard::model
