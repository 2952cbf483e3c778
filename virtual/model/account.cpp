// SPDX-License-Identifier: Apache-2.0

// The account of an execution that is replayed: a line for each step, with what happened before it.

#include "execution.hpp"

#include <algorithm>
#include <cstring>
#include <string>

// Where a debugger stops (src/lockyard/checks/gdb_commands.py): at each line of an account.
extern "C" {
extern std::size_t lockyard_replay_number;
std::size_t lockyard_replay_number = 0;
void lockyard_replay_step();
[[gnu::noipa]] void lockyard_replay_step() {}
}

namespace lockyard::model {

void execution::tell(std::source_location where, const std::string& text, const facts& more) {
  if (looks_for_shared_ && more.data != nullptr) note_shared(*more.data);
  if (account_ == nullptr) return;
  if (more.data != nullptr && more.kind != "failure" && !is_worth_a_line(*more.data)) return;
  // A loop that repeats a read says nothing new either.
  if (more.kind == "plain read" && !account_->empty()) {
    const trace_line& last = account_->back();
    if (last.thread == running_ && last.where.line() == where.line() && last.text == text &&
        std::strcmp(last.where.file_name(), where.file_name()) == 0) {
      return;
    }
  }
  trace_line line{.thread = running_, .where = where, .text = text, .kind = std::string{more.kind}};
  // Plain accesses and failures belong to the thread's next event.
  const bool comes_next = more.data != nullptr || more.kind == "failure";
  line.event = comes_next ? moment() : me().events;
  line.happened = me().known.current.happened;
  if (more.order) line.order = name_of(*more.order);
  if (more.word) line.word = described(*more.word);
  if (more.data != nullptr) line.word = described(*more.data);
  if (more.written) line.written = text_of(*more.word, *more.written);
  if (more.read) note_others(line, more);
  note_edges(line);
  lockyard_replay_number = account_->size();
  account_->push_back(std::move(line));
  lockyard_replay_step();
}

void execution::note_shared(const plain_record& data) {
  const auto on_stack = find_on_stack(data.lies.address);
  if (!on_stack || on_stack->thread == running_ || is_shared(*on_stack, data.lies.size)) return;
  shared_.push_back({.stack = on_stack->thread,
                     .begin = on_stack->from_top - std::min(on_stack->from_top, data.lies.size),
                     .end = on_stack->from_top});
}

bool execution::is_shared(const stack_place& at, std::size_t size) const {
  return std::ranges::any_of(shared_, [&](const shared_part& each) {
    return each.stack == at.thread && at.from_top > each.begin && each.end + size > at.from_top;
  });
}

/// A thread's use of its own stack says nothing, unless another thread uses that memory too.
bool execution::is_worth_a_line(const plain_record& data) const {
  const auto on_stack = find_on_stack(data.lies.address);
  return !on_stack || on_stack->thread != running_ || is_shared(*on_stack, data.lies.size);
}

std::string execution::text_of(location_index word, std::uint64_t value) const {
  const std::size_t size = memory_.at(word).lies.size;
  return text_of_value == nullptr ? std::to_string(value) : text_of_value(value, size);
}

/// The last line of a thread that belongs to an event up to that one.
std::optional<std::size_t> execution::line_of(const origin& by) const {
  for (std::size_t i = account_->size(); i-- > 0;) {
    const trace_line& each = (*account_)[i];
    if (each.thread == by.thread && each.event <= by.event) return i;
  }
  return std::nullopt;
}

void execution::note_others(trace_line& line, const facts& more) const {
  const auto& messages = memory_.at(*more.word).messages;
  line.read = text_of(*more.word, messages[*more.read].value);
  line.reads_from = line_of(messages[*more.read].by);
  for (const auto& [look, index] : candidates_) {
    if (index == *more.read || (more.look && look != *more.look)) continue;
    const message& other = messages[index];
    line.others.push_back(
        {.value = text_of(*more.word, other.value), .written_by = line_of(other.by)});
  }
}

/// An edge from another thread's line goes to the first line that it happens before; an edge that
/// follows from another edge is left out.
void execution::note_edges(trace_line& line) const {
  const auto before = std::find_if(account_->rbegin(), account_->rend(),
                                   [&](const auto& each) { return each.thread == line.thread; });
  const clock known = before == account_->rend() ? clock{} : before->happened;
  std::vector<std::size_t> found;
  for (thread_index i = 0; i < count_; ++i) {
    if (i == line.thread || line.happened.of[i] <= known.of[i]) continue;
    const auto from = line_of({.thread = i, .event = line.happened.of[i]});
    if (from) found.push_back(*from);
  }
  for (const std::size_t each : found) {
    const trace_line& source = (*account_)[each];
    const bool follows = std::ranges::any_of(found, [&](std::size_t other) {
      return other != each && (*account_)[other].happened.of[source.thread] >= source.event;
    });
    if (!follows) line.after.push_back(each);
  }
  if (line.kind != "failure" || line.word.empty()) return;
  // Only a write conflicts with these.
  const bool needs_write = line.text.starts_with("reads ") || line.text.starts_with("accesses ");
  for (std::size_t i = account_->size(); i-- > 0;) {
    const trace_line& each = (*account_)[i];
    const bool is_read = each.kind == "plain read" || each.kind == "load";
    if (each.thread == line.thread || each.word != line.word || (needs_write && is_read) ||
        line.happened.of[each.thread] >= each.event) {
      continue;
    }
    line.conflicts_with = i;
    return;
  }
}

}  // namespace lockyard::model
