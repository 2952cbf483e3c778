// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of a program (its executable and its shared libraries) that have this library's headers
// compiled into them, and how each part finds the others at run time.

#include <lockyard/detail/os/linux.hpp>

#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockyard::inline v0::detail::os {

/// The data of a part that the other parts see.
struct part_root {
  std::atomic<void*> shared{nullptr};  ///< shared by all parts; null until this part knows it
};

/// The root of the part that this is compiled into. Its name is written by hand because the note
/// below names it.
[[gnu::visibility("hidden"),
  gnu::used]] inline constinit part_root own_part_root asm("lockyard_part_root_1");

// A note with the distance of the root. The note's type is the version of part_root and of all data
// reached from it. The linker keeps notes, and several copies in one part do no harm.
asm(".pushsection .note.lockyard, \"a\", %note\n"
    ".balign 4\n"
    ".long 9, 8, 1\n"
    ".asciz \"lockyard\"\n"
    ".balign 4\n"
    "0: .quad lockyard_part_root_1 - 0b\n"
    ".popsection\n");

/// Returns the part_root of a loaded object; null if it has no part_root of this version.
inline part_root* root_of(const dl_phdr_info& object) noexcept {
  constexpr std::uint32_t version = 1;
  const auto is_loaded = [&object](std::uintptr_t begin, std::size_t bytes) {
    for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
      const auto& segment = object.dlpi_phdr[i];
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 && begin >= segment.p_vaddr &&
          begin + bytes <= segment.p_vaddr + segment.p_filesz) {
        return true;
      }
    }
    return false;
  };
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE || !is_loaded(segment.p_vaddr, segment.p_filesz)) continue;
    const std::size_t alignment = segment.p_align == 8 ? 8 : 4;
    const auto padded = [alignment](std::size_t bytes) {
      return (bytes + alignment - 1) / alignment * alignment;
    };
    std::uintptr_t at = object.dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = at + segment.p_filesz;
    while (end - at >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, reinterpret_cast<const void*>(at), sizeof note);
      const std::uintptr_t name = at + sizeof note;
      const std::size_t to_content = sizeof note + padded(note.n_namesz);
      const std::size_t whole = to_content + padded(note.n_descsz);
      if (whole > end - at) break;
      constexpr char ours[] = "lockyard";
      if (note.n_type == version && note.n_namesz == sizeof ours &&
          note.n_descsz == sizeof(std::int64_t) &&
          std::memcmp(reinterpret_cast<const void*>(name), ours, sizeof ours) == 0) {
        std::int64_t distance = 0;
        std::memcpy(&distance, reinterpret_cast<const void*>(at + to_content), sizeof distance);
        return reinterpret_cast<part_root*>(at + to_content +
                                            static_cast<std::uintptr_t>(distance));
      }
      at += whole;
    }
  }
  return nullptr;
}

/// Calls `visit` with the root of each part, in an order that does not change, until it returns
/// true. The loader unloads no part during the call.
template <class Visit>
void visit_parts(Visit visit) noexcept {
  const auto each = [](dl_phdr_info* object, std::size_t /*bytes*/, void* visitor) {
    part_root* const root = root_of(*object);
    return root != nullptr && (*static_cast<Visit*>(visitor))(*root) ? 1 : 0;
  };
  dl_iterate_phdr(each, &visit);
}

/// Allocates zero bytes that no part owns. Ends the process if memory is unavailable.
inline void* map_for_all_parts(std::size_t bytes) noexcept {
  void* const begin =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) fatal("mmap of the state of the process", errno);
  return begin;
}
inline void unmap_for_all_parts(void* begin, std::size_t bytes) noexcept {
  munmap(begin, bytes);
}

}  // namespace lockyard::inline v0::detail::os
