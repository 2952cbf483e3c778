// SPDX-License-Identifier: Apache-2.0
#include "lasting.hpp"

#include "program.hpp"
#include "shared_frames.hpp"

#include <algorithm>
#include <array>

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

using bits = fact_table::bits;

constexpr unsigned threads_each = 10;
static_assert(model::max_threads <= threads_each);
constexpr bits all_threads = (bits{1} << threads_each) - 1;

bits of_self() {
  return bits{1} << now().self();
}

/// A set of threads as one of several in the facts of a key.
constexpr bits as_set(unsigned which, bits threads) {
  return threads << (which * threads_each);
}
constexpr bits set_of(unsigned which, bits facts) {
  return facts >> (which * threads_each) & all_threads;
}
constexpr unsigned used(access_kind how) {
  return static_cast<unsigned>(how);
}
constexpr unsigned relied(access_kind how) {
  return all_kinds.size() + static_cast<unsigned>(how);
}

/// No name of memory. Its facts concern all memory.
constexpr std::uint64_t general = 1;
constexpr unsigned ended_early = 0;    ///< threads whose first function has ended while others ran
constexpr unsigned expected_late = 1;  ///< threads of which the search has expected the contrary
constexpr unsigned notes_reads = 2;    ///< only writes that are left out conflict with them

}  // namespace

lasting_memory& lasting() {
  static lasting_memory all;  // all processes that search share it
  return all;
}

void forget_what_lasts() {
  lasting().forget();
  frames().forget();
}

void lasting_memory::note_use(std::uintptr_t begin, std::uintptr_t end, access_kind how) {
  if (!now().teaches()) return;
  if (how == access_kind::read && set_of(notes_reads, *facts_->known(general)) == 0) return;
  if (now().runs_alone(worker::mine().threads.existing())) return;
  const bits others = all_threads & ~of_self();
  for (std::uintptr_t at = begin / bytes_each; at * bytes_each < end; ++at) {
    const auto before = facts_->add(name_of(at * bytes_each), as_set(used(how), others));
    if (!before) continue;  // and nothing was relied on, nor will be
    const bits news = others & ~set_of(used(how), *before);
    for (const access_kind each : all_kinds) {
      if (may_conflict(how, each) && (news & set_of(relied(each), *before)) != 0)
        now().search_anew();
    }
  }
}

void lasting_memory::note_first_end() {
  if (!now().teaches()) return;
  if (now().runs_alone(worker::mine().threads.existing())) return;
  const bits before = *facts_->add(general, as_set(ended_early, of_self()));
  const bits expected = set_of(expected_late, before) & ~set_of(ended_early, before);
  if ((expected & of_self()) != 0) now().search_anew();
}

/// Functions that others call end while threads run.
bool lasting_memory::stack_lasts(std::uintptr_t at) {
  const auto place = now().find_on_stack(reinterpret_cast<const void*>(at));
  if (!place || place->thread == now().self()) return true;
  const bits owner = bits{1} << place->thread;
  if ((set_of(ended_early, *facts_->known(general)) & owner) != 0) return false;
  const bits before = *facts_->add(general, as_set(expected_late, owner));
  if ((set_of(ended_early, before) & owner) != 0) return false;
  return worker::mine().memory.functions.is_of_first(place->thread, at);
}

void lasting_memory::ask_for_reads() {
  const bits before = *facts_->add(general, as_set(notes_reads, 1));
  if (set_of(notes_reads, before) == 0) now().search_anew();
}

bool lasting_memory::has_only_words(std::uintptr_t begin, std::uintptr_t end) {
  if (!now().teaches()) return false;
  ask_for_reads();
  return lasts(begin, end, access_kind::atomic);
}

bool lasting_memory::lasts(std::uintptr_t begin, std::uintptr_t end, access_kind how) {
  if (!now().teaches()) return false;
  if (how == access_kind::write) ask_for_reads();
  if (!stack_lasts(begin)) return false;
  const auto is_used = [how](bits facts) {
    return std::ranges::any_of(all_kinds, [&](access_kind each) {
      return may_conflict(how, each) && (set_of(used(each), facts) & of_self()) != 0;
    });
  };
  for (std::uintptr_t at = begin / bytes_each; at * bytes_each < end; ++at) {
    const std::uint64_t name = name_of(at * bytes_each);
    const auto known = facts_->known(name);
    if (!known || is_used(*known)) return false;
    if (is_used(*facts_->add(name, as_set(relied(how), of_self())))) return false;
  }
  return true;
}

}  // namespace lockyard::plain
