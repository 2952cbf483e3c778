// SPDX-License-Identifier: Apache-2.0

// What the code that calls the checker goes on with: the registers that a call preserves, the place
// that it returns to, and its stack. All else that it knows lies in memory.
//
// Addresses on the threads' stacks, in the client and in its states differ from worker to worker,
// so they are named by object and offset. Deadlines are numbers like no others, and are named by
// what is known of them. All other numbers stand for themselves.

#include "equal_futures.hpp"
#include "execution.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockyard::model {

namespace {

/// Addresses lie between these; a higher number has more than an address in it.
constexpr std::uint64_t least_address = 1U << 16U;
constexpr unsigned bits_of_address = 48;
constexpr int most_bits_below = 16;

/// Objects that have addresses of their own, besides the stacks of threads.
constexpr std::uint64_t client_object = max_threads;

std::uint64_t name_of(std::uint64_t object, std::uint64_t offset) {
  hash128 name;
  name.mix(object);
  name.mix(offset);
  return name.low;
}

}  // namespace

/// The sanitizers know of memory that must not be read.
bool execution::can_look_at_code() noexcept {
#if LOCKYARD_MODEL_KNOWS_CALLERS && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

bool execution::searches_states() const noexcept {
  return can_look_at_code() && settings_.forgets_past && name_of_memory == nullptr && reduces();
}

/// Not if another client of the checker's thread is where this one would be.
bool execution::may_forget_past() const noexcept {
  return searches_states() && client_memory_.begin != nullptr;
}

void execution::note_caller(const std::uint64_t* saved) noexcept {
  code_runs_ = false;
  calling_code& caller = me().caller;
  std::copy_n(saved, caller.registers.size(), caller.registers.begin());
  caller.stack = reinterpret_cast<const std::byte*>(saved + caller.registers.size());
}

extern "C" [[gnu::used]] execution* lockyard_model_note_caller(
    const std::uint64_t* saved) noexcept {
  execution* const now = execution::current();
  now->note_caller(saved);
  return now;
}

/// Clears what the call has left: it would lie in unused parts of later frames, and make states
/// differ that are the same.
extern "C" [[gnu::used]] void lockyard_model_leave() noexcept {
  execution::current()->end_call();
}

std::uint64_t equal_futures::renamed(std::uint64_t value) {
  if (value >= first_deadline && value - first_deadline < of_.deadlines_.size()) {
    return name_of_deadline(value);
  }
  if (value < least_address) return value;
  if (value >> bits_of_address == 0) return name_of_address(value).value_or(value);
  // A word may hold an address shifted left, with bits of its own below it.
  const int shift = std::countl_zero(reinterpret_cast<std::uintptr_t>(of_.client_memory_.begin)) -
                    std::countl_zero(value);
  if (shift <= 0 || shift > most_bits_below) return value;
  const auto name = name_of_address(value >> static_cast<unsigned>(shift));
  if (!name) return value;
  const std::uint64_t below = value & ((std::uint64_t{1} << static_cast<unsigned>(shift)) - 1);
  return name_of(*name, below << most_bits_below | static_cast<unsigned>(shift));
}

/// Nothing if what lies there is in the same place for each worker.
std::optional<std::uint64_t> equal_futures::name_of_address(std::uint64_t value) const {
  const auto is_within = [&](const void* begin, std::size_t size) {
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    return value >= from && value - from < size;
  };
  if (const auto spot = of_.stacks_.find(value)) return name_of(spot->stack, spot->from_top);
  if (is_within(of_.client_memory_.begin, with_room(of_.client_memory_.size))) {
    return name_of(client_object,
                   value - reinterpret_cast<std::uintptr_t>(of_.client_memory_.begin));
  }
  for (const room_for_state& each : of_.rooms_) {
    if (!each.is_taken || !is_within(each.begin, with_room(each.kind->size))) continue;
    return name_of(name_of(reinterpret_cast<std::uintptr_t>(each.kind->type), each.owner),
                   value - reinterpret_cast<std::uintptr_t>(each.begin));
  }
  // A call of the checker has left it there.
  if (is_within(&of_, sizeof of_)) return 0;
  if (is_within(of_.frames_below_.begin, of_.frames_below_.size)) return 0;
  return std::nullopt;
}

std::uint64_t equal_futures::name_of_deadline(std::size_t which) {
  auto& known = names_.deadlines;
  const auto place = std::ranges::find(known, which) - known.begin();
  if (place == std::ssize(known)) known.push_back(which);
  const end_of_wait& end = of_.end_of(which);
  return first_deadline + static_cast<std::size_t>(place) * 64U +
         static_cast<std::size_t>(end.when) * 4U + (end.waits_only ? 2U : 0U) +
         (end.has_passed ? 1U : 0U);
}

/// Mixes bytes, and what they point to.
void equal_futures::mix_bytes(hash128& all, const std::byte* from, std::size_t count) {
  while (count != 0) {
    const std::size_t part = std::min(count, sizeof(std::uint64_t));
    std::uint64_t value = 0;
    std::memcpy(&value, from, part);
    all.mix(value < least_address ? value : renamed(value));
    from += part;
    count -= part;
  }
}

/// Mixes the memory of an object, but for its words and its plain data.
void equal_futures::mix_rest_of(hash128& all, const void* object, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(object);
  auto& parts = named_parts_;
  parts.clear();
  const auto add = [&](const place& lies) {
    const auto at = reinterpret_cast<std::uintptr_t>(lies.address);
    if (at >= begin && at - begin < size) parts.emplace_back(at, at + lies.size);
  };
  for (location_index i = 0; i < of_.memory_.count(); ++i) {
    if (of_.memory_.at(i).is_alive) add(of_.memory_.at(i).lies);
  }
  for (const plain_record& each : of_.plains_) {
    if (each.is_alive) add(each.lies);
  }
  std::ranges::sort(parts);
  std::uintptr_t at = begin;
  const auto mix_until = [&](std::uintptr_t end) {
    if (end <= at) return;
    // Up to the next whole word first, as addresses lie in whole words.
    const std::size_t odd = std::min<std::size_t>(end - at, -at % sizeof(std::uint64_t));
    mix_bytes(all, reinterpret_cast<const std::byte*>(at), odd);
    mix_bytes(all, reinterpret_cast<const std::byte*>(at + odd), end - at - odd);
  };
  for (const auto& [from, to] : parts) {
    mix_until(from);
    at = std::max(at, to);
  }
  mix_until(begin + size);
}

void equal_futures::mix_code(hash128& all, const calling_code& of) {
  for (const std::uint64_t each : of.registers) all.mix(renamed(each));
  all.mix(static_cast<std::uint64_t>(of.stack_top - of.stack));
  mix_rest_of(all, of.stack, static_cast<std::size_t>(of.stack_top - of.stack));
}

/// An execution begins with the steps of the one before it, up to the first choice that differs.
void equal_futures::note_step(thread_index which) {
  thread_record& thread = of_.threads_[which];
  if (thread.caller.stack == nullptr) {
    ++of_.steps_back_;
    return;
  }
  const std::size_t step = of_.steps_ - 1;
  if (of_.by_->is_new() || step >= codes_.size()) {
    known_code code;
    names_.deadlines.clear();
    mix_code(code.hash, thread.caller);
    code.is_lasting = names_.deadlines.empty();
    code.name = code.is_lasting ? code.hash.low : 0;
    code.steps_back = of_.steps_back_ + (is_step_back(thread.code, code) ? 1 : 0);
    codes_.resize(step);
    codes_.push_back(code);
  }
  thread.code = codes_[step];
  of_.steps_back_ = thread.code.steps_back;
}

/// Code that other threads may change has no name, and each step from there or to there counts.
bool equal_futures::is_step_back(const known_code& from, const known_code& to) const {
  if (from.name == 0 || to.name == 0 || !of_.is_step_back) return true;
  return of_.is_step_back(from.name, to.name);
}

void equal_futures::note_sleep(thread_record& of) {
  if (!of_.forgets_past()) return;
  of.known_at_sleep = of.known;
  of.code_at_sleep = {};
  names_.deadlines.clear();
  mix_code(of.code_at_sleep, of.caller);
}

}  // namespace lockyard::model

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl lockyard_model_enter
  .type lockyard_model_enter, @function
lockyard_model_enter:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
  movq %rsp, %rdi
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call lockyard_model_note_caller
  addq $56, %rsp
  .cfi_adjust_cfa_offset -56
  ret
  .cfi_endproc
  .size lockyard_model_enter, .-lockyard_model_enter
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .globl lockyard_model_enter
  .type lockyard_model_enter, %function
lockyard_model_enter:
  .cfi_startproc
  sub sp, sp, #160
  .cfi_def_cfa_offset 160
  stp d8, d9, [sp]
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  stp x19, x20, [sp, #64]
  stp x21, x22, [sp, #80]
  stp x23, x24, [sp, #96]
  stp x25, x26, [sp, #112]
  stp x27, x28, [sp, #128]
  stp x29, x30, [sp, #144]
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x0, sp
  bl lockyard_model_note_caller
  ldp x29, x30, [sp, #144]
  add sp, sp, #160
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size lockyard_model_enter, .-lockyard_model_enter
)");
#endif
