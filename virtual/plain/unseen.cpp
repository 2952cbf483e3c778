// SPDX-License-Identifier: Apache-2.0
#include "unseen.hpp"

#include "hidden_state.hpp"
#include "program.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lockyard::plain {

namespace {

/// The functions that the checker defines, what the compiler and the linker refer to by themselves,
/// and functions that throw: an exception is an event of its own (exceptions.cpp). A table of
/// virtual functions leads to functions of a library, but the one of std::thread::_State only to
/// its destructor, which does nothing.
bool is_known(std::string_view name) {
  constexpr std::array prefixes{std::string_view{"__tsan_"},     std::string_view{"__wrap_"},
                                std::string_view{"lockyard_"},   std::string_view{"_ZTI"},
                                std::string_view{"__VERIFIER_"}, std::string_view{"__ubsan_"}};
  constexpr std::array names{
      std::string_view{"_ITM_deregisterTMCloneTable"},
      std::string_view{"_ITM_registerTMCloneTable"},
      std::string_view{"_Unwind_Resume"},
      std::string_view{"_ZNSt6thread6_StateD1Ev"},
      std::string_view{"_ZNSt6thread6_StateD2Ev"},
      std::string_view{"_ZTVN10__cxxabiv117__class_type_infoE"},
      std::string_view{"_ZTVN10__cxxabiv119__pointer_type_infoE"},
      std::string_view{"_ZTVN10__cxxabiv120__si_class_type_infoE"},
      std::string_view{"_ZTVN10__cxxabiv121__vmi_class_type_infoE"},
      std::string_view{"_ZTVNSt6thread6_StateE"},
      std::string_view{"_ZSt11__once_call"},
      std::string_view{"_ZSt15__once_callable"},
      std::string_view{"_ZSt7nothrow"},
      std::string_view{"__cxa_atexit"},
      std::string_view{"__cxa_finalize"},
      std::string_view{"__cxa_free_exception"},
      std::string_view{"__cxa_pure_virtual"},
      std::string_view{"__cxa_throw_bad_array_new_length"},
      std::string_view{"__gmon_start__"},
      std::string_view{"__gxx_personality_v0"},
      std::string_view{"__once_proxy"},
      std::string_view{"__stack_chk_fail"},
  };
  const bool throws = name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos;
  return throws || is_arithmetic(name) || std::ranges::find(names, name) != names.end() ||
         std::ranges::any_of(prefixes, [&](auto each) { return name.starts_with(each); });
}

/// The symbols that the module does not define come first, and are not hashed.
std::size_t number_of_undefined(const std::uint32_t* hashes) {
  return hashes[1];
}

/// The other thread on whose stack an address is.
std::optional<model::thread_index> foreign_owner(std::uintptr_t at) {
  const auto on_stack = execution::current()->find_on_stack(reinterpret_cast<const void*>(at));
  if (!on_stack || on_stack->thread == execution::current()->self()) return std::nullopt;
  return on_stack->thread;
}

}  // namespace

bool calls_unknown_functions(const ElfW(Dyn) * dynamic) {
  const ElfW(Sym)* symbols = nullptr;
  const char* texts = nullptr;
  const std::uint32_t* hashes = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto* const at = reinterpret_cast<const void*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(at);
    if (dynamic->d_tag == DT_STRTAB) texts = static_cast<const char*>(at);
    if (dynamic->d_tag == DT_GNU_HASH) hashes = static_cast<const std::uint32_t*>(at);
  }
  if (symbols == nullptr || texts == nullptr || hashes == nullptr) return true;
  const std::span undefined{symbols, number_of_undefined(hashes)};
  return !std::ranges::all_of(undefined.subspan(1), [texts](const ElfW(Sym) & each) {
    return is_known(texts + each.st_name);
  });
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

void note_foreign_change(std::uintptr_t at) {
  if (const auto owner = foreign_owner(at)) worker::mine().memory.functions.note_change_of(*owner);
}

}  // namespace lockyard::plain
