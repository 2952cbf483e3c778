// SPDX-License-Identifier: Apache-2.0
#include "local_state.hpp"

#include "program.hpp"
#include "shared_frames.hpp"

#include <model/hash.hpp>

#include <csetjmp>
#include <cstring>
#include <span>

namespace lockyard::plain {

[[gnu::noinline]] void clear_dead_stack() {
  std::array<std::byte, 1280> dead;  // NOLINT(*-member-init): that is what follows
  explicit_bzero(dead.data(), dead.size());
}

[[gnu::noinline]] std::uint64_t local_state() {
  std::jmp_buf registers;
  std::memset(&registers, 0, sizeof registers);
  static_cast<void>(setjmp(registers));
  const auto* const begin = static_cast<const std::byte*>(__builtin_frame_address(0));
  const auto on_stack = execution::current()->find_on_stack(begin);
  model::hash128 all;
  const auto saved = std::as_bytes(std::span{&registers, 1});
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= saved.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, &saved[i], sizeof word);
    all.mix(word);
  }
  if (on_stack) all.mix(frames().hash_of({begin, on_stack->from_top}));
  return all.low;
}

[[gnu::noinline]] void note_caller([[maybe_unused]] const std::byte* frame) {
  if (!is_active() || !execution::current()->may_repeat()) return;
#if defined(__x86_64__) && !defined(__clang__)
  // GCC saves the five registers that calls preserve right below the frame pointer. Below them the
  // function's frame may have gaps, with values that earlier calls have left there.
  const std::byte* const begin = frame - 5 * sizeof(std::uint64_t);
#else
  const auto* const begin = static_cast<const std::byte*>(__builtin_frame_address(0));
#endif
  const auto on_stack = execution::current()->find_on_stack(begin);
  if (!on_stack) return;
  worker& mine = worker::mine();
  model::hash128 state = frames().hash_of({begin, on_stack->from_top});
  state.mix(static_cast<std::uint64_t>(mine.storage[on_stack->thread].error));
  mine.loop().note_caller(state.low | 1U);
}

}  // namespace lockyard::plain
