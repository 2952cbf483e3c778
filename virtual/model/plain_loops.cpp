// SPDX-License-Identifier: Apache-2.0

// Loops that read plain data, and at most make fences or pauses. No other thread can end such a
// loop without a data race, so a thread that comes back to where it was is stuck; the others go on,
// and the one that writes the data races with it. A loop that counts is never where it was before.
// After many turns it is searched in two ways: it goes on, or it waits until no other thread can.

#include "execution.hpp"

#include <bit>

namespace lockyard::model {

namespace {

constexpr std::uint32_t least_plain_reads = 8;
/// The state that ends a loop may be one that the checker does not see, as in strtok(), so some
/// turns pass before equal states mean that nothing changes.
constexpr std::uint32_t turns_on_trust = 100;
constexpr std::uint32_t most_plain_turns = 10'000;

}  // namespace

void execution::read_plain(std::size_t hint, const void* address, const void* type,
                           std::source_location where) {
  if (is_plain_turn(address)) end_plain_turn(where);
  read_plain_now(hint, address, type, where);
}

/// The mark moves on after ever longer times: in the end the loop reads the marked data.
[[gnu::noinline]] bool execution::is_plain_turn(const void* address) {
  thread_record& thread = me();
  thread.repeats.has_read_plain = true;
  thread.repeats.failed_at = 0;  // a race with this read is looked for to the end
  plain_loop& loop = thread.repeats.plain;
  if (std::has_single_bit(++loop.reads)) {
    loop.marked = address;
    loop.turns = 0;
    return false;
  }
  if (loop.marked != address || loop.reads < least_plain_reads) return false;
  ++loop.turns;
  return true;
}

/// Has no frame that would differ from turn to turn.
[[gnu::noinline]] void execution::end_plain_turn(std::source_location where) {
  clear_dead_stack();
  me().notes_plain_turn = true;
  switch_out();
  if (me().now == status::stuck) fail(verdict::hang, "reads plain data forever", where);
  plain_loop& loop = me().repeats.plain;
  if (loop.turns < most_plain_turns || loop.has_given_way || is_set_up()) return;
  if (me().undisturbed) return;
  loop.has_given_way = true;
  note_unordered();  // which steps come before depends on more than the graph
  if (choose(choice_kind::time, 2, where) != 0) return;
  if (account_ != nullptr) tell(where, "reads plain data again and again, and waits");
  block(status::giving_way);
}

/// Whether the thread goes on in the same step. The thread that sets the client up reports itself,
/// and so does one that no other thread may disturb.
bool execution::note_plain_turn(thread_record& thread) {
  thread.notes_plain_turn = false;
  plain_loop& loop = thread.repeats.plain;
  if (loop.turns < turns_on_trust) return true;
  const hash128 state = state_of_stack(thread);
  if (loop.turns == turns_on_trust) loop.state = state;
  if (loop.turns == turns_on_trust || loop.state != state) return true;
  thread.now = status::stuck;
  return is_set_up() || thread.undisturbed;
}

void execution::note_skipped_look(location_index word) {
  repetition& repeats = me().repeats;
  repeats.plain = {};
  const location& at = memory_.at(word);
  for (std::size_t i = at.order.size(); i-- > 0 && !repeats.skipped;) {
    const message_index which = at.order[i];
    if (at.messages[which].by.thread == running_) repeats.skipped = {.where = word, .which = which};
  }
}

/// Whether a loop that pauses has looked at plain data alone. A failure for no reason needs nothing
/// new either.
bool execution::waits_for_plain_data(const thread_record& thread) {
  return thread.repeats.has_read_plain && thread.reads.empty() && thread.repeats.failures.empty();
}

}  // namespace lockyard::model
