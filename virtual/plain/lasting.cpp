// SPDX-License-Identifier: Apache-2.0
#include "lasting.hpp"

#include "program.hpp"

namespace lockyard::plain {

namespace {

execution& now() {
  return *execution::current();
}

}  // namespace

lasting_memory& lasting() {
  static lasting_memory all;  // one worker searches a module
  return all;
}

void forget_what_lasts() {
  lasting().forget();
}

void lasting_memory::note_change(std::uintptr_t begin, std::uintptr_t end, access_kind how) {
  if (now().runs_alone(worker::mine().threads.existing())) return;
  const auto others = static_cast<threads>(~(1U << now().self()));
  for (std::uintptr_t at = begin / bytes_each; at * bytes_each < end; ++at) {
    unit& known = all_[name_of(at * bytes_each)];
    const bool is_plain = how == access_kind::plain;
    threads& noted = is_plain ? known.plainly : known.atomically;
    const threads relied =
        is_plain ? static_cast<threads>(known.relied_plainly | known.relied_atomically)
                 : known.relied_plainly;
    if ((others & ~noted & relied) != 0) now().search_anew();
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

bool lasting_memory::lasts(std::uintptr_t begin, std::uintptr_t end, access_kind read) {
  if (!stack_lasts(begin)) return false;
  const auto self = static_cast<threads>(1U << now().self());
  const bool is_plain = read == access_kind::plain;
  for (std::uintptr_t at = begin / bytes_each; at * bytes_each < end; ++at) {
    unit& known = all_[name_of(at * bytes_each)];
    if ((known.plainly & self) != 0 || (is_plain && (known.atomically & self) != 0)) return false;
    (is_plain ? known.relied_plainly : known.relied_atomically) |= self;
  }
  return true;
}

}  // namespace lockyard::plain
