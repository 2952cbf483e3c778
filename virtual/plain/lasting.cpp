// SPDX-License-Identifier: Apache-2.0
#include "lasting.hpp"

#include "program.hpp"

#include <utility>

namespace lockyard::plain {

namespace {

execution& now() {
  return *execution::current();
}

constexpr std::array all_kinds{access_kind::read, access_kind::write, access_kind::atomic};

/// Whether two such uses by two threads may be a race, or one of them finds the memory ended. An
/// atomic use may be a write.
constexpr bool may_conflict(access_kind a, access_kind b) {
  if (a == access_kind::write || b == access_kind::write) return true;
  return (a == access_kind::atomic) != (b == access_kind::atomic);
}

}  // namespace

lasting_memory& lasting() {
  static lasting_memory all;  // one worker searches a module
  return all;
}

void forget_what_lasts() {
  lasting().forget();
}

void lasting_memory::note_use(std::uintptr_t begin, std::uintptr_t end, access_kind how) {
  if (how == access_kind::read && !notes_reads_) return;
  if (now().runs_alone(worker::mine().threads.existing())) return;
  const auto others = static_cast<threads>(~(1U << now().self()));
  for (std::uintptr_t at = begin / bytes_each; at * bytes_each < end; ++at) {
    unit& known = all_[name_of(at * bytes_each)];
    threads& noted = known.used[static_cast<std::size_t>(how)];
    for (const access_kind each : all_kinds) {
      const threads relied = known.relied[static_cast<std::size_t>(each)];
      if (may_conflict(how, each) && (others & ~noted & relied) != 0) now().search_anew();
    }
    noted |= others;
  }
}

void lasting_memory::note_first_end() {
  if (now().runs_alone(worker::mine().threads.existing())) return;
  const auto self = static_cast<threads>(1U << now().self());
  if ((relied_on_late_ & self & ~early_) != 0) now().search_anew();
  early_ |= self;
}

/// Functions that others call end while threads run.
bool lasting_memory::stack_lasts(std::uintptr_t at) {
  const auto place = now().find_on_stack(reinterpret_cast<const void*>(at));
  if (!place || place->thread == now().self()) return true;
  const auto owner = static_cast<threads>(1U << place->thread);
  if ((early_ & owner) != 0) return false;
  relied_on_late_ |= owner;
  return worker::mine().memory.functions.is_of_first(place->thread, at);
}

bool lasting_memory::lasts(std::uintptr_t begin, std::uintptr_t end, access_kind how) {
  if (how == access_kind::write && !std::exchange(notes_reads_, true)) now().search_anew();
  if (!stack_lasts(begin)) return false;
  const auto self = static_cast<threads>(1U << now().self());
  for (std::uintptr_t at = begin / bytes_each; at * bytes_each < end; ++at) {
    unit& known = all_[name_of(at * bytes_each)];
    for (const access_kind each : all_kinds) {
      const bool is_used = (known.used[static_cast<std::size_t>(each)] & self) != 0;
      if (is_used && may_conflict(how, each)) return false;
    }
    known.relied[static_cast<std::size_t>(how)] |= self;
  }
  return true;
}

}  // namespace lockyard::plain
