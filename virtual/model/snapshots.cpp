// SPDX-License-Identifier: Apache-2.0

// The next execution of a search begins with the steps of the one before, up to the first choice
// that differs. It need not make them again: before each third step, if it is new, a snapshot is
// taken of all that steps change, and the next execution goes on from the last one before that
// choice. A snapshot takes as long as a few steps, so there is not one before each.
//
// All this lies in the engine's own records, in the client and its states, and on the threads'
// stacks: a thread between two steps is its stack, with the registers that its context has saved
// there. The client remains where it is from one execution to the next, and so does a state.
//
// What the client's code keeps elsewhere would remain as it is when the search goes back. So
// - the program notes what the code takes from the heap (checker/heap.cpp), and then goes back no
//   more;
// - there is no snapshot where a word or plain data lies elsewhere, or an exception is being
//   handled: the C++ library keeps it on the heap.

#include "execution.hpp"

#include <cstddef>
#include <cstring>
#include <exception>
#include <span>

namespace lockyard::model {

namespace {

/// Calls visit(begin, size) for each part of the memory of the client's code.
template <class Visit>
void for_each_part(const stretch& client, std::span<const room_for_state> rooms, Visit visit) {
  visit(const_cast<void*>(client.begin), client.size);  // NOLINT(*-const-cast): it is the client's
  for (const room_for_state& each : rooms) {
    if (each.is_taken) visit(each.begin, each.kind->size);
  }
}

/// The used part of a thread's stack; its context is the stack's end.
std::span<std::byte> used_part(std::byte* top, const thread_record& thread) {
  if (thread.now == status::ended) return {};
  return {static_cast<std::byte*>(thread.context), top};
}

constexpr unsigned steps_between = 3;

bool handles_exception() {
  return std::uncaught_exceptions() != 0 || std::current_exception() != nullptr;
}

}  // namespace

bool execution::may_take_snapshot() {
  return goes_back_ && steps_ % steps_between == 0 && !uses_heap_ && can_look_at_code() &&
         by_->explores() && by_->is_new() && !by_->is_translated() && account_ == nullptr &&
         !scheduler && name_of_memory == nullptr && client_memory_.begin != nullptr &&
         !snapshots_.full() && !takes_turns_from_ && !handles_exception() &&
         futures_.knows_all_memory();
}

void execution::take_snapshot() {
  snapshot& to = snapshots_.add();
  to.choices = by_->used();
  to.progress = *this;
  to.words.copy(memory_);
  to.sleepers.clear();
  for (location_index i = 0; i < memory_.count(); ++i) {
    for (const thread_index each : sleepers_[i]) to.sleepers.emplace_back(i, each);
  }
  to.bytes.clear();
  const auto add = [&to](const void* begin, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(begin);
    to.bytes.insert(to.bytes.end(), first, first + size);
  };
  to.taken.clear();
  for (const room_for_state& each : rooms_) to.taken.push_back(each.is_taken);
  for_each_part(client_memory_, rooms_, add);
  const auto keep = [&](thread_index which) {
    to.threads[which] = threads_[which];
    const auto part = used_part(stacks_.top(which), threads_[which]);
    add(part.data(), part.size());
  };
  for (thread_index i = 0; i < count_; ++i) keep(i);
  keep(setter_);
}

/// False if the execution has to begin with the client.
bool execution::go_back() {
  const snapshot* const to = snapshots_.last_within(by_->changed());
  if (to == nullptr) return false;
  static_cast<progress_so_far&>(*this) = to->progress;
  for (std::size_t i = 0; i < memory_.count(); ++i) sleepers_[i].clear();
  memory_.copy(to->words);
  for (const auto& [word, thread] : to->sleepers) sleepers_[word].push_back(thread);
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    rooms_[i].is_taken = i < to->taken.size() && to->taken[i];
  }
  const std::byte* from = to->bytes.data();
  const auto put = [&from](void* begin, std::size_t size) {
    std::memcpy(begin, from, size);
    from += size;
  };
  for_each_part(client_memory_, rooms_, put);
  const auto restore = [&](thread_index which) {
    threads_[which] = to->threads[which];
    const auto part = used_part(stacks_.top(which), threads_[which]);
    put(part.data(), part.size());
  };
  for (thread_index i = 0; i < count_; ++i) restore(i);
  restore(setter_);
  left_out_.clear();
  is_redundant_ = false;
  verdict_ = verdict::passed;
  what_.clear();
  by_->rewind(to->choices);
  return true;
}

}  // namespace lockyard::model
