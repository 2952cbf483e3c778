// SPDX-License-Identifier: Apache-2.0
#include "execution.hpp"

#include "events.hpp"

#include <pthread.h>

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace lockyard::model {

namespace {

namespace context = boost::context::detail;

thread_local execution* running_execution = nullptr;

/// The part of a stack that clients seldom go beyond.
constexpr std::size_t bytes_cleared = 8192;

/// The memory of the clients that this thread of the checker makes.
struct client_room {
  client_room() = default;
  client_room(const client_room&) = delete;
  client_room& operator=(const client_room&) = delete;
  ~client_room() { std::free(memory); }

  void* memory = nullptr;
  std::size_t room = 0;
  std::size_t used = 0;  ///< 0 if there is no client in it
  bool is_not_all = false;
};
thread_local client_room room_of_client;

stretch memory_of(const client& which) {
  const void* const begin = dynamic_cast<const void*>(&which);
  if (begin != room_of_client.memory || room_of_client.is_not_all) return {};
  return {.begin = begin, .size = room_of_client.used};
}

}  // namespace

void* client::operator new(std::size_t size) {
  return operator new(size, std::align_val_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__});
}

void* client::operator new(std::size_t size, std::align_val_t alignment) {
  client_room& room = room_of_client;
  if (room.used != 0 || static_cast<std::size_t>(alignment) > alignment_of_room) {
    room.is_not_all = true;
    return ::operator new(size, alignment);
  }
  if (room.room < size) {
    std::free(std::exchange(room.memory, nullptr));
    room.room = with_room(size);
    room.memory = std::aligned_alloc(alignment_of_room, room.room);
    if (room.memory == nullptr) throw std::bad_alloc{};
  }
  room.used = size;
  std::memset(room.memory, 0, size);
  return room.memory;
}

void client::operator delete(void* memory) noexcept {
  operator delete(memory, std::align_val_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__});
}

void client::operator delete(void* memory, std::align_val_t alignment) noexcept {
  if (memory != room_of_client.memory) return ::operator delete(memory, alignment);
  room_of_client.used = 0;
  room_of_client.is_not_all = false;
}

execution*& execution::current() noexcept {
  return running_execution;
}

/// Returns where the calling thread's stack ends, or nothing if the system does not tell.
static const std::byte* end_of_own_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* end = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &end, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<const std::byte*>(end);
}

execution::execution(const settings& chosen) {
  settings_ = chosen;
  const auto* const from = end_of_own_stack();
  const auto* const end = static_cast<const std::byte*>(__builtin_frame_address(0));
  if (from != nullptr)
    frames_below_ = {.begin = from, .size = static_cast<std::size_t>(end - from)};
}

bool execution::run(const std::function<std::unique_ptr<client>()>& make, choices& by,
                    const gate& goes_on) {
  by_ = &by;
  make_ = &make;
  const bool goes_on_from_snapshot = go_back();
  if (!goes_on_from_snapshot) end();
  running_execution = this;
  if (!goes_on_from_snapshot) begin();
  const std::size_t facts_before = facts_found();
  stepped last = stepped::on;
  while (verdict_ == verdict::passed && last == stepped::on) last = step(goes_on);
  const bool whole = last != stepped::cut;
  if (whole && verdict_ == verdict::passed && !has_given_up_) {
    for (thread_index i = 0; i < count_; ++i) {
      memory_.join(threads_[setter_].known.current, threads_[i].known.current);
    }
    finishes_ = true;
    resume(setter_);
    finishes_ = false;
  }
  running_execution = nullptr;
  // A fact that is found out changes how the code runs from its beginning.
  if (verdict_ != verdict::passed || uses_heap_ || facts_before != facts_found())
    snapshots_.clear();
  if (snapshots_.empty()) end();
  return whole;
}

/// Makes the client, and starts its threads.
void execution::begin() {
  reset();
  setter_ = max_threads - 1;
  start(setter_);
  if (verdict_ == verdict::passed) {
    count_ = static_cast<thread_index>(std::min<std::size_t>(client_->threads(), max_threads - 1));
    if (count_ != client_->threads()) {
      verdict_ = verdict::inconclusive;
      what_ = "the client has " + std::to_string(client_->threads()) +
              " threads, more than the checker has room for, so nothing was searched; give it at "
              "most " +
              std::to_string(max_threads - 1);
    }
    client_memory_ = memory_of(*client_);
    forgets_past_ = may_forget_past();
    tie_threads();
    for (thread_index i = 0; i < count_; ++i) {
      threads_[i].known = threads_[setter_].known;
      start(i);
    }
  }
}

/// The rest of the client was meant to survive: no destructor runs for it.
void execution::end() {
  states_.clear();
  for (room_for_state& each : rooms_) each.is_taken = false;
  client_.reset();
}

void execution::begin_part(bool goes_back) {
  snapshots_.clear();
  goes_back_ = goes_back;
  futures_.begin_part();
}

void execution::reset() {
  for (thread_record& each : threads_) {
    // Not used; but the maker of the client knows all that the threads did.
    const bool made_client = &each == &threads_.back();
    if (!made_client && each.events == 0 && each.now == status::ended) continue;
    each.known = {};
    each.history = {};
    each.events = 0;
    each.created = 0;
    each.code = {};
    each.last_change = 0;
    each.now = status::ended;
    each.timed_out = false;
    each.deadline.reset();
    each.reads.clear();
    std::vector<read_before> all_reads = std::move(each.repeats.all_reads);  // keeps its memory
    all_reads.clear();
    each.repeats = {};
    each.known_at_sleep.reset();
    each.repeats.all_reads = std::move(all_reads);
    each.sleeps = sleep_kind::usual;
    each.sleeps_in_time = false;
    each.undisturbed = false;
    each.notes_state = false;
    each.has_woken_idly = false;
    each.sleeps_on_what_may_end = false;
    each.notes_plain_turn = false;
    each.rushes = false;
    each.spins_in_kernel = false;
    each.yields = false;
    each.next = {};
    each.deferred = {};
  }
  for (std::size_t i = 0; i < memory_.count(); ++i) sleepers_[i].clear();
  memory_.reset();
  count_ = 0;
  last_.reset();
  preemptions_ = 0;
  steps_ = 0;
  is_short_of_room_ = false;
  takes_turns_from_.reset();
  turn_left_ = 0;
  spurious_left_ = settings_.spurious_wakes;
  sleeps_ = 0;
  changes_of_data_ = 0;
  timeouts_left_ = settings_.timeouts;
  hours_ = 0;
  short_spins_left_ = settings_.short_spins;
  old_reads_left_ = settings_.old_reads.value_or(1);
  barriers_lost_ = false;
  last_heavy_ = {};
  last_light_ = {};
  deadlines_.clear();
  plains_.clear();
  occupants_.clear();
  previous_.reset();
  steps_back_ = 0;
  client_memory_ = {};
  forgets_past_ = false;
  has_opaque_data_ = false;
  words_known_ = plains_known_ = 0;
  learned_.reset();
  has_symmetry_ = false;
  done_.clear();
  left_out_.clear();
  is_redundant_ = false;
  has_given_up_ = false;
  program_has_ended_ = false;
  verdict_ = verdict::passed;
  what_.clear();
  by_->rewind();
}

bool execution::runs_alone(std::size_t of_first) noexcept {
  if (is_set_up()) return true;
  const clock& happened = me().known.current.happened;
  for (thread_index i = 0; i < std::min<std::size_t>(of_first, count_); ++i) {
    const thread_record& each = threads_[i];
    const bool is_known_end = each.now == status::ended && happened.of[i] >= each.events;
    if (i != running_ && !is_known_end) return false;
  }
  return true;
}

void execution::start(thread_index thread) {
  threads_[thread].now = status::ready;
  // The rests of other executions would lie in unused parts of frames, and make states differ that
  // are the same.
  std::memset(stacks_.top(thread) - bytes_cleared, 0, bytes_cleared);
  std::feclearexcept(FE_ALL_EXCEPT);  // the new stack has a copy of these flags
  threads_[thread].context =
      context::make_fcontext(stacks_.top(thread), fiber_stacks::bytes, &execution::enter);
  resume(thread);
}

void execution::enter(context::transfer_t from) {
  execution& self = *static_cast<execution*>(from.data);
  self.scheduler_ = from.fctx;
  const thread_index thread = self.running_;
  if (thread == self.setter_) {
    self.code_runs_ = true;
    self.client_ = (*self.make_)();
    self.code_runs_ = false;
    self.switch_out();
    self.client_->finish();
  } else {
    self.me().caller.stack_top = static_cast<const std::byte*>(__builtin_frame_address(0));
    self.code_runs_ = true;
    self.client_->thread(thread);
    self.end_states(thread);
    self.code_runs_ = false;
    self.event(ended, 0, 0);
  }
  self.code_runs_ = false;
  self.threads_[thread].now = status::ended;
  for (;;) self.switch_out();  // a fiber that returned would end the program
}

void execution::resume(thread_index thread) {
  thread_record& resumed = threads_[thread];
  running_ = thread;
  bool goes_on = false;
  do {
    resumed.context = context::jump_fcontext(resumed.context, this).fctx;
    goes_on = resumed.notes_plain_turn && note_plain_turn(resumed);
    if (!resumed.notes_state) continue;
    note_state(thread);
    goes_on |= is_set_up();
  } while (goes_on);
}

void execution::switch_out() {
  scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx;
}

void execution::step_point(const pending& next) {
  if (is_set_up() || me().undisturbed) return;
  me().next = next;
  switch_out();
}

void execution::block(status why) {
  me().now = why;
  me().next = {};
  if (is_set_up()) fail(verdict::hang, "the only thread waits", {});
  // Code without a world may wait in a section for anything; a wait for a condition begins one.
  if (me().undisturbed && why != status::sleeping && name_of_memory != nullptr) note_unordered();
  switch_out();
  me().now = status::ready;
}

void execution::fail(verdict kind, std::string text, std::source_location where,
                     const plain_record* data, std::optional<location_index> word) {
  verdict_ = kind;
  what_ = std::move(text);
  tell(where, what_, {.kind = "failure", .word = word, .data = data});
  for (;;) switch_out();  // never continued
}

unsigned execution::choose(choice_kind kind, std::size_t count, std::source_location where) {
  if (count > max_messages) fail(verdict::inconclusive, "more alternatives than fit", where);
  return guarded([&] { return by_->choose(kind, static_cast<unsigned>(count)); }, where);
}

std::size_t execution::choose_of_allowed(std::size_t count, std::source_location where) {
  if (count > max_messages) fail(verdict::inconclusive, "more alternatives than fit", where);
  return guarded(
      [&] { return by_->choose_of(choice_kind::message, allowed_, static_cast<unsigned>(count)); },
      where);
}

template <class Choose>
unsigned execution::guarded(Choose choose_one, std::source_location where) {
  try {
    return choose_one();
  } catch (const not_deterministic& fault) {
    what_ = "at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  fail(verdict::not_deterministic, what_, where);
}

}  // namespace lockyard::model
