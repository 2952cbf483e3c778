// SPDX-License-Identifier: Apache-2.0

// Leaves out executions that are others with the names of threads exchanged.
//
// A client declares which of its threads are interchangeable. If threads i and j are, each
// execution graph in which they are exchanged is a graph of the client too, and fails if the first
// one does. So it suffices to search one graph out of all that differ by such exchanges.
//
// The one is chosen by the threads' marks: the accesses that a thread makes to words which the
// client's maker has created, in the thread's order, each with the message that it reads or stores.
// Marks are ordered by word, place of the message in modification order, and kind, and lists of
// marks like words in a dictionary. All this is the same in every order of steps that leads to the
// graph, and follows the threads if they are exchanged: for each graph some exchange sorts the
// threads by their marks. A graph in which they are not sorted is left out. Once the marks of two
// threads differ, no later step makes them equal, nor moves one message past another, so an
// execution ends as soon as that is seen.
//
// Nothing else in the search knows of it. The graphs that remain are reached as before, so the
// rules of reduction.cpp, the cache, hangs and bounds are not concerned: an execution and the same
// one with exchanged threads have the same steps, preemptions, time-outs, spins and wakes.
//
// Words that threads have created, or that belong to the process, leave no marks: exchanged threads
// have exchanged nodes.
//
// Threads are not interchangeable if the client gives one of them a part of its own, keeps a word
// for each of them, or looks at the threads' order in finish(); nor if a lock does more with
// addresses and numbers of threads than ask whether two are equal. A search in which threads that
// were declared interchangeable ask for their numbers begins anew without all this, unless the
// client says that the numbers are names. A node of the machine is never a name.

#include "execution.hpp"

#include <algorithm>

namespace lockyard::model {

void execution::tie_threads() {
  for (thread_index i = 0; i < count_; ++i) {
    threads_[i].tied = 0;
    threads_[i].alike = static_cast<std::uint16_t>(1U << i);
  }
  if (conflicts_ == nullptr || conflicts_->tells_threads_apart) return;
  std::array<unsigned, max_threads> classes{};
  for (thread_index i = 0; i < count_; ++i) {
    classes[i] = client_->symmetry_class(i);
    threads_[i].marks.clear();
    for (thread_index j = 0; j < i; ++j) {
      if (classes[i] != classes[j]) continue;
      threads_[i].tied = static_cast<std::uint16_t>(threads_[i].tied | 1U << j);
      threads_[j].tied = static_cast<std::uint16_t>(threads_[j].tied | 1U << i);
      threads_[i].alike = static_cast<std::uint16_t>(threads_[i].alike | 1U << j);
      threads_[j].alike = static_cast<std::uint16_t>(threads_[j].alike | 1U << i);
      has_symmetry_ = true;
    }
  }
}

void execution::mark_access(access_kind kind, location_index where, message_index which) {
  thread_record& thread = me();
  if (thread.tied == 0) return;
  const location& at = memory_.at(where);
  if (at.creator.thread != setter_ || at.creator.event == 0) return;
  thread.marks.push_back({.kind = kind, .where = where, .which = which});
  const std::size_t last = thread.marks.size() - 1;
  for (thread_index i = 0; thread.tied >> i != 0; ++i) {
    thread_record& other = threads_[i];
    if ((thread.tied >> i & 1U) == 0 || other.marks.size() <= last) continue;
    const auto order = compare(thread.marks[last], other.marks[last]);
    if (order == std::strong_ordering::equal) continue;
    if ((order == std::strong_ordering::less) != (running_ < i)) is_redundant_ = true;
    thread.tied = static_cast<std::uint16_t>(thread.tied & ~(1U << i));
    other.tied = static_cast<std::uint16_t>(other.tied & ~(1U << running_));
  }
}

std::strong_ordering execution::compare(const symmetry_mark& a, const symmetry_mark& b) {
  if (a.where != b.where) return a.where <=> b.where;
  const location& at = memory_.at(a.where);
  if (a.which != b.which) return at.position[a.which] <=> at.position[b.which];
  return a.kind <=> b.kind;
}

thread_index execution::name_of_self() noexcept {
  if (has_symmetry_ && !client_->compares_names_only()) note_told_apart();
  return running_;
}

thread_index execution::number_of_self() noexcept {
  if (has_symmetry_) note_told_apart();
  return running_;
}

void execution::note_told_apart() {
  if (is_set_up()) return;
  if (!learned_) learned_ = *conflicts_;
  learned_->tells_threads_apart = true;
}

}  // namespace lockyard::model
