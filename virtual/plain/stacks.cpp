// SPDX-License-Identifier: Apache-2.0
#include "stacks.hpp"

#include "lasting.hpp"

#include <algorithm>

namespace lockyard::plain {

using model::execution;

namespace {

execution& now() {
  return *execution::current();
}

/// Elsewhere a function's frame pointer does not say where its variables end.
#ifdef __x86_64__
constexpr bool are_functions_known = true;
#else
constexpr bool are_functions_known = false;
#endif

}  // namespace

stacks::stack& stacks::mine() {
  return all_[now().self()];
}

/// Functions may have ended without a call: by longjmp().
void stacks::drop_below(stack& mine, std::uintptr_t end) {
  while (!mine.functions.empty() && mine.functions.back().end <= end) mine.functions.pop_back();
}

void stacks::enter(std::uintptr_t end, std::uintptr_t bottom, std::uintptr_t pc) {
  stack& own = mine();
  drop_below(own, end);
  own.functions.push_back({.end = end, .begun = now().here_and_now(), .pc = pc});
  own.dead_below = bottom;
}

void stacks::reach(std::uintptr_t bottom) {
  stack& own = mine();
  own.dead_below = std::min(own.dead_below, bottom);
}

void stacks::leave(std::uintptr_t end) {
  stack& own = mine();
  drop_below(own, end);
  own.dead_below = end;
  if (own.functions.empty()) return lasting().note_first_end();
  function& caller = own.functions.back();
  caller.callees_end = std::max(caller.callees_end, end);
}

std::optional<stacks::frame> stacks::frame_of(model::thread_index owner, std::uintptr_t at) const {
  const auto& functions = all_[owner].functions;
  const auto inner = std::ranges::find_if(functions.rbegin(), functions.rend(),
                                          [at](const function& each) { return each.end > at; });
  if (!are_functions_known || inner == functions.rend()) return std::nullopt;
  return frame{.pc = inner->pc, .end = inner->end};
}

bool stacks::is_of_first(model::thread_index owner, std::uintptr_t at) const {
  const auto& functions = all_[owner].functions;
  if (functions.empty()) return false;
  const bool is_of_other = functions.size() > 1 && at < functions[1].end;
  return !is_of_other && at < functions.front().end && at >= functions.front().callees_end;
}

std::uintptr_t stacks::outermost() const {
  const auto& functions = all_[now().self()].functions;
  return functions.empty() ? 0 : functions.front().end;
}

bool stacks::comes_after_beginning(model::thread_index owner, std::uintptr_t at) const {
  const auto& functions = all_[owner].functions;
  const auto inner = std::ranges::find_if(functions.rbegin(), functions.rend(),
                                          [at](const function& each) { return each.end > at; });
  return are_functions_known && inner != functions.rend() && at >= inner->callees_end &&
         now().comes_after(inner->begun);
}

void stacks::note_change_of(model::thread_index owner) {
  all_[owner].is_changed = true;
  if (all_[owner].is_compared) now().note_unordered();
}

void stacks::note_comparison() {
  mine().is_compared = true;
  if (mine().is_changed) now().note_unordered();
}

}  // namespace lockyard::plain
