// SPDX-License-Identifier: Apache-2.0
#include "arena.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <stdexcept>

namespace lockyard::simulation {

namespace {

constexpr std::uintptr_t address = 0x6000'0000'0000;
constexpr std::size_t page = 4096;
constexpr std::size_t stacks_size = arena::stack_bytes * arena::stacks;
constexpr std::size_t objects_size = std::size_t{256} << 20U;

}  // namespace

arena::arena() : used_{stacks_size} {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = mmap(wanted, stacks_size + objects_size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) {
    if (got != MAP_FAILED) munmap(got, stacks_size + objects_size);
    throw std::runtime_error{
        "the simulator's addresses are taken or out of reach, so a run would not repeat; "
        "raise the limit on virtual memory (ulimit -v), or use a system with 48-bit addresses"};
  }
  base_ = static_cast<std::byte*>(got);
}

arena::~arena() {
  munmap(base_, stacks_size + objects_size);
}

void* arena::stack_top(int which) const noexcept {
  std::byte* const bottom = base_ + stack_bytes * static_cast<std::size_t>(which);
  mprotect(bottom, page, PROT_NONE);  // without the guard it is still a stack
  // Tops at the same offset in their pages would compete for a few sets of the caches.
  constexpr std::size_t line = 64, step = 17;
  return bottom + stack_bytes - static_cast<std::size_t>(which) * step * line % page;
}

void* arena::allocate(std::size_t size, std::size_t alignment) {
  used_ = (used_ + alignment - 1) / alignment * alignment;
  if (used_ + size > stacks_size + objects_size) throw std::bad_alloc{};
  void* const found = base_ + used_;
  used_ += size;
  return found;
}

}  // namespace lockyard::simulation
