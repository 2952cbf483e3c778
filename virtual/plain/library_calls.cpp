// SPDX-License-Identifier: Apache-2.0
#include "library_calls.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace lockyard::plain::library_calls {

namespace {

/// A call goes through a slot with the function's address (a JUMP_SLOT relocation), and where the
/// module takes the address, it is in a slot too: in a table of virtual functions, or for a
/// destructor that is passed to the library. The slots get the address of a piece of code that
/// counts the call and goes on to the function. It changes no register that has an argument, so it
/// suits functions of every type.
struct watched {
  std::uint32_t calls = 0;    ///< in all executions
  std::uint32_t ignored = 0;  ///< as many of these do not count
  unseen what{};
  std::uintptr_t function = 0;
};

/// Calls with a first argument that points there do not count.
struct memory_part {
  std::uintptr_t begin = 0;
  std::uint32_t size = 0;
};

memory_part standard_streams() {
  const auto [first, last] = std::minmax({&std::cout, &std::cerr, &std::clog}, std::less<>{});
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  return {begin, static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(last + 1) - begin)};
}

constexpr std::size_t most_watched = 128;

struct all_watched {
  std::array<watched, most_watched> functions{};
  std::size_t count = 0;
  std::byte* code = nullptr;
  std::array<bool, 2> were_made{};
};

all_watched& all() {
  static all_watched here;
  return here;
}

#ifdef __x86_64__

constexpr bool is_slot(std::uint64_t relocation) {
  return relocation == R_X86_64_JUMP_SLOT || relocation == R_X86_64_GLOB_DAT ||
         relocation == R_X86_64_64;
}
constexpr std::size_t bytes_of_code = 64;

/// The linker's own code between a call and the function may change %r11 too:
///   movabs $-uncounted.begin, %r11; add %rdi, %r11; cmp $uncounted.size, %r11; jb 1f
///   movabs $calls, %r11; addl $1, (%r11)
/// 1: movabs $function, %r11; jmp *%r11
void write_code(std::byte* to, watched& of, const memory_part& uncounted) {
  constexpr std::array<std::uint8_t, 2> load{0x49, 0xbb};
  constexpr std::array<std::uint8_t, 6> subtract_and_compare{0x49, 0x01, 0xfb, 0x49, 0x81, 0xfb};
  constexpr std::array<std::uint8_t, 2> if_below{0x72, 14};
  constexpr std::array<std::uint8_t, 4> count{0x41, 0x83, 0x03, 0x01};
  constexpr std::array<std::uint8_t, 3> jump{0x41, 0xff, 0xe3};
  const auto add = [&to](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  const std::uint32_t* const calls = &of.calls;
  const std::uintptr_t minus_begin = 0 - uncounted.begin;
  add(load.data(), load.size());
  add(&minus_begin, sizeof minus_begin);
  add(subtract_and_compare.data(), subtract_and_compare.size());
  add(&uncounted.size, sizeof uncounted.size);
  add(if_below.data(), if_below.size());
  add(load.data(), load.size());
  add(&calls, sizeof calls);
  add(count.data(), count.size());
  add(load.data(), load.size());
  add(&of.function, sizeof of.function);
  add(jump.data(), jump.size());
}

#else

constexpr bool is_slot(std::uint64_t /*relocation*/) {
  return false;
}
constexpr std::size_t bytes_of_code = 1;

void write_code(std::byte* /*to*/, watched& /*of*/, const memory_part& /*uncounted*/) {}

#endif

struct relocations {
  explicit relocations(const link_map& of) {
    const ElfW(Rela)* others = nullptr;
    const ElfW(Rela)* calls = nullptr;
    std::size_t bytes_of_others = 0;
    std::size_t bytes_of_calls = 0;
    for (const ElfW(Dyn)* each = of.l_ld; each->d_tag != DT_NULL; ++each) {
      const auto* const at = reinterpret_cast<const void*>(each->d_un.d_ptr);
      if (each->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(at);
      if (each->d_tag == DT_STRTAB) texts = static_cast<const char*>(at);
      if (each->d_tag == DT_RELA) others = static_cast<const ElfW(Rela)*>(at);
      if (each->d_tag == DT_RELASZ) bytes_of_others = each->d_un.d_val;
      if (each->d_tag == DT_JMPREL) calls = static_cast<const ElfW(Rela)*>(at);
      if (each->d_tag == DT_PLTRELSZ) bytes_of_calls = each->d_un.d_val;
    }
    of_calls = {calls, bytes_of_calls / sizeof *calls};
    of_others = {others, bytes_of_others / sizeof *others};
  }

  [[nodiscard]] std::string_view name_of(const ElfW(Rela) & each) const {
    return texts + symbols[ELF64_R_SYM(each.r_info)].st_name;
  }

  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  std::span<const ElfW(Rela)> of_calls;
  std::span<const ElfW(Rela)> of_others;
};

std::uintptr_t address_in(std::uintptr_t slot) {
  std::uintptr_t found = 0;
  std::memcpy(&found, reinterpret_cast<const void*>(slot), sizeof found);
  return found;
}

/// Whether it is the address of a function, and not of an object.
bool is_function(std::uintptr_t address) {
  Dl_info found{};
  void* symbol = nullptr;
  const auto* const at = reinterpret_cast<const void*>(address);
  if (dladdr1(at, &found, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return false;
  const auto type = ELF64_ST_TYPE(static_cast<const ElfW(Sym)*>(symbol)->st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/// Whether nothing writes there after the module has been loaded.
bool is_read_only(const link_map& module, std::uintptr_t at) {
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(module.l_addr);
  const auto* const first = reinterpret_cast<const ElfW(Phdr)*>(module.l_addr + header.e_phoff);
  return std::ranges::any_of(std::span{first, header.e_phnum}, [&](const ElfW(Phdr) & each) {
    return each.p_type == PT_GNU_RELRO && at - module.l_addr - each.p_vaddr < each.p_memsz;
  });
}

/// The slots with the function's address; none if the module uses it in another way, or the
/// program may change a slot.
std::vector<std::uintptr_t> slots_of(const link_map& module, std::string_view name) {
  const relocations of{module};
  std::vector<std::uintptr_t> found;
  for (const auto& part : {of.of_calls, of.of_others}) {
    for (const auto& each : part) {
      if (of.name_of(each) != name) continue;
      const auto relocation = ELF64_R_TYPE(each.r_info);
      const std::uintptr_t at = module.l_addr + each.r_offset;
      const bool is_call = part.data() == of.of_calls.data();
      const bool stays = is_call || (each.r_addend == 0 && is_read_only(module, at));
      if (!is_slot(relocation) || !stays || !is_function(address_in(at))) return {};
      found.push_back(at);
    }
  }
  return found;
}

[[noreturn]] void fail(const char* call) {
  throw std::system_error{errno, std::generic_category(), call};
}

void write_slot(const link_map& module, std::uintptr_t at, const std::byte* code) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(at / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
  std::memcpy(reinterpret_cast<void*>(at), static_cast<const void*>(&code), sizeof code);
  if (is_read_only(module, at) && mprotect(begin, page, PROT_READ) != 0) fail("mprotect");
}

}  // namespace

bool watch(const link_map& module, std::string_view name, unseen what, bool is_of_streams) {
  const std::vector<std::uintptr_t> slots = slots_of(module, name);
  auto& [functions, count, code, made] = all();
  if (slots.empty() || count == most_watched) return false;
  constexpr std::size_t bytes = most_watched * bytes_of_code;
  if (code == nullptr) {
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fail("mmap");
    code = static_cast<std::byte*>(at);
  }
  if (mprotect(code, bytes, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
  watched& added = functions[count];
  added.what = what;
  added.function = address_in(slots.front());
  std::byte* const begin = code + count++ * bytes_of_code;
  write_code(begin, added, is_of_streams ? standard_streams() : memory_part{});
  if (mprotect(code, bytes, PROT_READ | PROT_EXEC) != 0) fail("mprotect");
  for (const std::uintptr_t each : slots) write_slot(module, each, begin);
  return true;
}

void ignore() {
  for (watched& each : all().functions) each.ignored = each.calls;
}

void count() {
  for (watched& each : all().functions) {
    if (each.calls != each.ignored) all().were_made[static_cast<std::size_t>(each.what)] = true;
    each.ignored = each.calls;
  }
}

void begin_execution() {
  ignore();
  all().were_made = {};
}

std::uint32_t made_so_far(unseen what) {
  std::uint32_t made = 0;
  for (const watched& each : std::span{all().functions}.first(all().count)) {
    if (each.what == what) made += each.calls;
  }
  return made;
}

bool were_made(unseen what) {
  return all().were_made[static_cast<std::size_t>(what)];
}

}  // namespace lockyard::plain::library_calls
