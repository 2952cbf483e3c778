// SPDX-License-Identifier: Apache-2.0
#include "arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace lockyard::plain {

namespace {
constexpr std::size_t header = 16;
}  // namespace

arena::arena()
    : memory_{static_cast<std::byte*>(mmap(nullptr, heaps * bytes_each, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))} {
  if (static_cast<void*>(memory_) == MAP_FAILED) throw std::bad_alloc{};
}

arena::~arena() {
  munmap(memory_, heaps * bytes_each);
}

void arena::reset() {
  used_ = {};
  objects_.clear();
}

void* arena::take(unsigned thread, std::size_t bytes, std::size_t alignment,
                  std::source_location where, model::origin made) {
  if (alignment < header) alignment = header;
  std::size_t begin = used_[thread] + header;
  begin = (begin + alignment - 1) / alignment * alignment;
  if (bytes > bytes_each || begin + bytes > bytes_each) return nullptr;
  used_[thread] = begin + bytes;
  std::byte* const taken = memory_ + thread * bytes_each + begin;
  std::memcpy(taken - sizeof bytes, &bytes, sizeof bytes);
  std::memset(taken, std::to_integer<int>(unwritten), bytes);
  const auto at = reinterpret_cast<std::uintptr_t>(taken);
  objects_.push_back({.begin = at, .bytes = bytes, .where = where, .made = made, .number = 0});
  return taken;
}

std::optional<arena::object> arena::find(std::uintptr_t address) const {
  const auto found = std::ranges::find_if(objects_, [address](const object& each) {
    return each.begin <= address && address < each.begin + std::max<std::size_t>(each.bytes, 1);
  });
  if (found == objects_.end()) return std::nullopt;
  object named = *found;
  named.number = static_cast<unsigned>(found - objects_.begin());
  return named;
}

std::size_t arena::size_of(const void* address) {
  std::size_t bytes = 0;
  std::memcpy(&bytes, static_cast<const std::byte*>(address) - sizeof bytes, sizeof bytes);
  return bytes;
}

std::optional<std::size_t> arena::offset_of(std::uintptr_t address) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
  if (address < begin || address - begin >= heaps * bytes_each) return std::nullopt;
  return address - begin;
}

std::optional<unsigned> arena::owner_of(std::uintptr_t address) const {
  const auto offset = offset_of(address);
  if (!offset) return std::nullopt;
  return static_cast<unsigned>(*offset / bytes_each);
}

}  // namespace lockyard::plain
