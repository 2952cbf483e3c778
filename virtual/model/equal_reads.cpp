// SPDX-License-Identifier: Apache-2.0

// Leaves out reads of a newer message where an older one has the same value.
//
// A read that takes the older message returns the same value, and the thread knows no more than
// after the newer one: what it may read and write later, what it publishes, and what happens before
// its later steps can only be more permissive. So every continuation after the newer message exists
// after the older one too, with the same values, sleepers and deadlines: a failure there fails here
// as well. A race, or a use after the end, needs knowledge that is missing.
//
// That holds only if
// - the older message tells the reader nothing that the newer one would not, now or at a later
//   acquire fence;
// - no sequentially consistent fence happens before the read, and the read is not sequentially
//   consistent itself: the read comes before all writes that follow its message, and such a fence
//   would come before the fences behind those writes;
// - the code has a world: without one, more than values depends on what a thread knows;
// - the client has no loops that pause or repeat a weak compare-exchange: they wait until something
//   newer than what they have read exists.
//
// If messages in a failing graph are replaced by older ones until none is left to replace, the
// result is a failing graph too; no path to it is left out here. Replacements do
// not depend on the names of threads, so symmetry.cpp may exchange these in what remains.

#include "execution.hpp"

#include <algorithm>

namespace lockyard::model {

/// Leaves out candidates that belong to that look, or to that outcome of a compare-exchange.
void execution::leave_out_equal_reads(location_index from, std::memory_order order,
                                      std::uint8_t which) {
  if (candidates_.size() < 2 || is_set_up() || !reduces() || conflicts_->has_loops) return;
  if (order == std::memory_order_seq_cst || name_of_memory != nullptr) return;
  if (memory_.knows_sequential_fence(me().known)) return;
  const location& at = memory_.at(from);
  const auto is_left_out = [&](const auto& newer) {
    return newer.first == which && std::ranges::any_of(candidates_, [&](const auto& older) {
             return older.first == which && at.position[older.second] < at.position[newer.second] &&
                    at.messages[older.second].value == at.messages[newer.second].value &&
                    memory_.tells_no_more(me().known, from, older.second, newer.second, order);
           });
  };
  // Something older stands for each one that is left out, so all may be compared with all.
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (is_left_out(candidates_[i])) left_out_.push_back(static_cast<std::uint8_t>(i));
  }
}

}  // namespace lockyard::model
