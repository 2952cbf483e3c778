// SPDX-License-Identifier: Apache-2.0
#include "spins.hpp"

#include "program.hpp"

#include <model/hash.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

namespace lockyard::plain {

namespace {

/// A loop that counts is followed attempt by attempt so often, and then to its end.
constexpr unsigned most_counted = 4;
/// So many attempts are compared with the one before each, and then fewer and fewer.
constexpr unsigned most_compared = 64;

struct guarded_lines {
  std::mutex guard;
  waiting_lines lines;
};

guarded_lines& all_spins() {
  static guarded_lines all;
  return all;
}

}  // namespace

waiting_lines known_spins() {
  const std::scoped_lock held{all_spins().guard};
  return all_spins().lines;
}

void note_spin(std::source_location where) {
  const std::scoped_lock held{all_spins().guard};
  all_spins().lines.emplace(where.file_name(), where.line());
}

void forget_spins() {
  const std::scoped_lock held{all_spins().guard};
  all_spins().lines.clear();
}

[[gnu::noinline]] void clear_dead_stack() {
  std::array<std::byte, 1280> dead;  // NOLINT(*-member-init): that is what follows
  explicit_bzero(dead.data(), dead.size());
}

namespace {

model::hash128 hash_of(std::span<const std::byte> bytes) {
  model::hash128 all;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    all.mix(word);
  }
  return all;
}

}  // namespace

[[gnu::noinline]] std::uint64_t local_state() {
  std::jmp_buf registers;
  std::memset(&registers, 0, sizeof registers);
  static_cast<void>(setjmp(registers));
  const auto* const begin = static_cast<const std::byte*>(__builtin_frame_address(0));
  const auto on_stack = execution::current()->find_on_stack(begin);
  model::hash128 all = hash_of(std::as_bytes(std::span{&registers, 1}));
  if (on_stack) all.mix(hash_of({begin, on_stack->from_top}));
  return all.low;
}

[[gnu::noinline]] void note_caller() {
  if (!is_active() || !execution::current()->may_repeat()) return;
  const auto* const frame = static_cast<const std::byte*>(__builtin_frame_address(0));
  const auto on_stack = execution::current()->find_on_stack(frame);
  if (!on_stack) return;
  worker& mine = worker::mine();
  model::hash128 state = hash_of({frame, on_stack->from_top});
  state.mix(static_cast<std::uint64_t>(mine.storage[on_stack->thread].error));
  mine.loop().note_caller(state.low | 1U);
}

void spins::reset() {
  looks_.clear();
  done_ = {};
  caller_ = unknown;
  plain_uses_.clear();
  rewritten_.clear();
  read_ = {};
  futile_ = {};
  repeated_ = 0;
  is_excused_ = false;
  failed_ = nullptr;
}

void spins::look(const void* from, std::uintptr_t at, std::source_location where) {
  futile_ = {};
  failed_ = nullptr;
  // A pause compares the stack with what it was, so nothing may be on it that counts.
  if (waits_for_nothing(from, at, where)) pause(where);
  looks_.back().has_paused = false;
}

/// Waits here after a futile turn, and notes the look. Returns true after another turn, unless the
/// thread has paused in it.
[[gnu::noinline]] bool spins::waits_for_nothing(const void* from, std::uintptr_t at,
                                                std::source_location where) {
  const std::uint64_t state = std::exchange(caller_, unknown);
  const std::uint64_t bytes = changed_bytes();
  execution& now = *execution::current();
  const last_look next{.from = from,
                       .at = at,
                       .state = state,
                       .reads = now.reads_made(),
                       .plain_uses = plain_uses_.size(),
                       .bytes = bytes,
                       .rewritten = rewritten_.size(),
                       .before = done_,
                       .has_paused = false};
  const auto earlier = std::ranges::find_if(looks_.rbegin(), looks_.rend(), [&](const auto& each) {
    return each.from == from && each.at == at;
  });
  const auto same = std::ranges::find_if(looks_.rbegin(), looks_.rend(), [&](const auto& each) {
    return each.from == from && each.at == at && each.state == state && each.bytes == bytes;
  });
  if (earlier == looks_.rend()) {
    looks_.push_back(next);
    return false;
  }
  const bool is_there = same != looks_.rend();
  const bool fills = earlier->rewritten != next.rewritten;
  const last_look before = is_there ? *same : *earlier;
  if (is_there) looks_.erase(std::next(same).base());
  if (looks_.size() == most_looks) looks_.erase(looks_.begin());
  looks_.push_back(next);
  const bool is_known = state != unknown && next.reads != before.reads &&
                        done_.choices == before.before.choices && now.may_repeat();
  if (is_known && before.bytes == bytes) worker::mine().memory.functions.note_comparison();
  const bool comes_back = is_known && now.is_repeated(is_there);
  if (!comes_back && fills) return false;
  note_spin(where);
  if (!comes_back) return !before.has_paused;
  clear_dead_stack();
  now.repeat({.reads_before = before.reads,
              .may_be_left_out = may_be_left_out(before),
              .asks_time = done_.times != before.before.times},
             where);
  note_pause();
  return false;
}

/// The last turn of the loop reads the word of this look again, and nothing else for certain.
bool spins::may_be_left_out(const last_look& since) const {
  execution& now = *execution::current();
  const void* const first = now.place_of_read(since.reads).address;
  for (std::size_t i = since.reads; i < now.reads_made(); ++i) {
    const model::place& lies = now.place_of_read(i);
    const auto begin = reinterpret_cast<std::uintptr_t>(lies.address);
    if (lies.address != first && !lasting().lasts(begin, begin + lies.size, access_kind::atomic))
      return false;
  }
  return std::ranges::all_of(
      plain_uses_.begin() + static_cast<std::ptrdiff_t>(since.plain_uses), plain_uses_.end(),
      [](const plain_use& each) { return lasting().lasts(each.begin, each.end, each.how); });
}

std::uint64_t spins::changed_bytes() const {
  model::hash128 all;
  rewritten_.mix_changes(all);
  return all.low;
}

void spins::pause(std::source_location where) {
  clear_dead_stack();
  execution::current()->pause(where);
  note_pause();
}

void spins::note_pause() {
  for (last_look& each : looks_) each.has_paused = true;
}

void spins::excuse() {
  looks_.clear();
  is_excused_ = true;
}

void spins::act() {
  failed_ = nullptr;
  is_excused_ = false;
  looks_.clear();
  plain_uses_.clear();
  rewritten_.clear();
  futile_ = {};
}

void spins::rewrite(std::uintptr_t at, std::size_t size) {
  failed_ = nullptr;
  is_excused_ = false;
  const bool has_states = !looks_.empty() || futile_.from != nullptr;
  if (has_states && !rewritten_.note(reinterpret_cast<const void*>(at), size)) act();
}

/// Its result alone decides whether states are compared: a counter in a register would be a part of
/// them.
[[gnu::noinline]] bool spins::is_compared() const {
  return repeated_ <= most_compared || std::has_single_bit(repeated_) ||
         std::has_single_bit(repeated_ - 1);
}

spins::attempt spins::next_attempt(const void* from, std::uintptr_t at, std::uint64_t operand) {
  const bool is_repeated = futile_.from == from && futile_.at == at && futile_.operand == operand;
  execution& now = *execution::current();
  if (!is_repeated || is_compared()) {
    clear_dead_stack();
    worker::mine().memory.functions.note_comparison();
    model::hash128 all;
    all.mix(local_state());
    rewritten_.mix_changes(all);
    const bool seems_same_state = all.low == std::exchange(state_, all.low);
    if (is_repeated && now.is_repeated(seems_same_state)) return attempt::await;
  }
  const bool fills = rewritten_.size() != std::exchange(places_, rewritten_.size());
  if (!is_repeated || fills) {
    repeated_ = 0;
    return attempt::make;
  }
  if (++repeated_ <= most_counted) return attempt::make;
  if (repeated_ == most_counted + 1) {
    model::hash128 all;
    for (const std::uint64_t each : {state_, std::uint64_t{at}, operand, futile_.found})
      all.mix(each);
    run_ = now.begin_long_run(all.low);
  }
  return now.has_no_end(run_, repeated_) ? attempt::await : attempt::skip;
}

void spins::note_futile(const void* from, std::uintptr_t at, std::uint64_t operand,
                        std::uint64_t found) {
  looks_.clear();
  futile_ = {.from = from, .at = at, .operand = operand, .found = found};
}

}  // namespace lockyard::plain
