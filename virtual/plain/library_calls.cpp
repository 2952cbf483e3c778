// SPDX-License-Identifier: Apache-2.0
#include "library_calls.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>

namespace lockyard::plain::library_calls {

namespace {

/// A call goes through a slot with the function's address (a JUMP_SLOT relocation). The slot gets
/// the address of a piece of code that counts the call and goes on to the function. It changes no
/// register that has an argument, so it suits functions of every type.
struct watched {
  std::uint32_t calls = 0;    ///< in all executions
  std::uint32_t ignored = 0;  ///< as many of these do not count
  unseen what{};
  std::uintptr_t function = 0;
};

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

constexpr unsigned slot_of_call = R_X86_64_JUMP_SLOT;
constexpr std::size_t bytes_of_code = 32;

/// movabs $calls, %r11; addl $1, (%r11); movabs $function, %r11; jmp *%r11. The linker's own code
/// between a call and the function may change %r11 too.
void write_code(std::byte* to, watched& of) {
  constexpr std::array<std::uint8_t, 2> load{0x49, 0xbb};
  constexpr std::array<std::uint8_t, 4> count{0x41, 0x83, 0x03, 0x01};
  constexpr std::array<std::uint8_t, 3> jump{0x41, 0xff, 0xe3};
  const auto add = [&to](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  const std::uint32_t* const calls = &of.calls;
  add(load.data(), load.size());
  add(&calls, sizeof calls);
  add(count.data(), count.size());
  add(load.data(), load.size());
  add(&of.function, sizeof of.function);
  add(jump.data(), jump.size());
}

#else

constexpr unsigned slot_of_call = ~0U;
constexpr std::size_t bytes_of_code = 1;

void write_code(std::byte* /*to*/, watched& /*of*/) {}

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

/// The slot through which the module calls the function, if it does nothing else with it.
std::optional<std::uintptr_t> slot_of(const link_map& module, std::string_view name) {
  const relocations of{module};
  std::optional<std::uintptr_t> found;
  for (const auto& each : of.of_others) {
    if (of.name_of(each) == name) return std::nullopt;
  }
  for (const auto& each : of.of_calls) {
    if (of.name_of(each) != name) continue;
    if (ELF64_R_TYPE(each.r_info) != slot_of_call) return std::nullopt;
    found = module.l_addr + each.r_offset;
  }
  return found;
}

[[noreturn]] void fail(const char* call) {
  throw std::system_error{errno, std::generic_category(), call};
}

void write_slot(std::uintptr_t at, const std::byte* code) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(at / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
  std::memcpy(reinterpret_cast<void*>(at), static_cast<const void*>(&code), sizeof code);
}

}  // namespace

bool watch(const link_map& module, std::string_view name, unseen what) {
  const auto slot = slot_of(module, name);
  auto& [functions, count, code, made] = all();
  if (!slot || count == most_watched) return false;
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
  std::memcpy(&added.function, reinterpret_cast<const void*>(*slot), sizeof added.function);
  std::byte* const begin = code + count++ * bytes_of_code;
  write_code(begin, added);
  if (mprotect(code, bytes, PROT_READ | PROT_EXEC) != 0) fail("mprotect");
  write_slot(*slot, begin);
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
