// SPDX-License-Identifier: Apache-2.0

// The memory of this program. It notes whether a client's code takes some, as a snapshot does not
// reach it (model/snapshots.cpp).

#include <model/execution.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

void note() noexcept {
  lockyard::model::execution* const now = lockyard::model::execution::current();
  if (now != nullptr && now->code_runs()) now->note_heap();
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  note();
  return checked(std::malloc(size == 0 ? 1 : size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  note();
  const auto boundary = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
