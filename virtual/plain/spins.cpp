// SPDX-License-Identifier: Apache-2.0
#include "spins.hpp"

#include <model/hash.hpp>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <mutex>

namespace lockyard::plain {

namespace {

/// A loop that counts is followed attempt by attempt so often, and then to its end.
constexpr unsigned most_counted = 4;
/// After so many attempts a loop that counts them is taken for one that does not end.
constexpr unsigned most_skipped = 20'000;

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

[[gnu::noinline]] std::uint64_t local_state() {
  std::jmp_buf registers;
  std::memset(&registers, 0, sizeof registers);
  static_cast<void>(setjmp(registers));
  const auto* const begin = static_cast<const std::byte*>(__builtin_frame_address(0));
  const auto on_stack = model::execution::current()->find_on_stack(begin);
  model::hash128 all;
  const auto mix = [&all](const std::byte* from, std::size_t bytes) {
    for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, sizeof word);
      all.mix(word);
      from += sizeof word;
    }
  };
  mix(reinterpret_cast<const std::byte*>(&registers), sizeof registers);
  if (on_stack) mix(begin, on_stack->from_top);
  return all.low;
}

void spins::reset() {
  looks_.clear();
  read_ = {};
  futile_ = {};
  repeated_ = 0;
  is_excused_ = false;
}

void spins::look(const void* from, std::uintptr_t at, std::source_location where) {
  futile_ = {};
  if (std::ranges::find(looks_, std::pair{from, at}) != looks_.end()) {
    note_spin(where);
    pause(where);
  }
  looks_.emplace_back(from, at);
}

void spins::pause(std::source_location where) {
  clear_dead_stack();
  model::execution::current()->pause(where);
  looks_.clear();
}

void spins::excuse() {
  looks_.clear();
  is_excused_ = true;
}

void spins::act() {
  is_excused_ = false;
  looks_.clear();
  futile_ = {};
}

spins::attempt spins::next_attempt(const void* from, std::uintptr_t at, std::uint64_t operand) {
  const bool is_repeated = futile_.from == from && futile_.at == at && futile_.operand == operand;
  clear_dead_stack();
  const std::uint64_t state = local_state();
  const bool seems_same_state = state == std::exchange(state_, state);
  if (!is_repeated) {
    repeated_ = 0;
    return attempt::make;
  }
  if (model::execution::current()->is_repeated(seems_same_state) || repeated_ > most_skipped)
    return attempt::await;
  return ++repeated_ > most_counted ? attempt::skip : attempt::make;
}

void spins::note_futile(const void* from, std::uintptr_t at, std::uint64_t operand,
                        std::uint64_t found) {
  looks_.clear();
  futile_ = {.from = from, .at = at, .operand = operand, .found = found};
}

}  // namespace lockyard::plain
