// SPDX-License-Identifier: Apache-2.0
#include "unseen.hpp"

#include "program.hpp"
#include "shared_frames.hpp"

#include <cstdint>
#include <optional>

namespace lockyard::plain {

namespace {

/// The other thread on whose stack an address is.
std::optional<model::thread_index> foreign_owner(std::uintptr_t at) {
  const auto on_stack = execution::current()->find_on_stack(reinterpret_cast<const void*>(at));
  if (!on_stack || on_stack->thread == execution::current()->self()) return std::nullopt;
  return on_stack->thread;
}

}  // namespace

void note_unseen() {
  execution::current()->note_unseen();
  worker::mine().loop().note_hidden_change();
}

void note_foreign_use(std::uintptr_t at) {
  const auto& storage = worker::mine().storage;
  const bool is_in_storage = at >= reinterpret_cast<std::uintptr_t>(storage.data()) &&
                             at < reinterpret_cast<std::uintptr_t>(storage.data() + storage.size());
  const bool is_foreign_error =
      is_in_storage &&
      at != reinterpret_cast<std::uintptr_t>(&storage[execution::current()->self()].error);
  const auto owner = foreign_owner(at);
  const bool is_undecided =
      owner && !worker::mine().memory.functions.comes_after_beginning(*owner, at);
  if (is_undecided || is_foreign_error) execution::current()->note_unordered();
}

void note_unwritten(std::uintptr_t at) {
  if (foreign_owner(at)) execution::current()->note_unordered();
}

void note_foreign_change(std::uintptr_t at, std::size_t size) {
  const auto owner = foreign_owner(at);
  if (owner && !frames().note_change(*owner, at, size))
    worker::mine().memory.functions.note_change_of(*owner);
}

}  // namespace lockyard::plain
