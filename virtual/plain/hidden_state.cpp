// SPDX-License-Identifier: Apache-2.0
#include "hidden_state.hpp"

#include "library_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lockyard::plain {

namespace {

/// What the compiler and the linker refer to by themselves. A table of virtual functions leads to
/// functions of a library, but the one of std::thread::_State only to its destructor, which does
/// nothing.
constexpr std::string_view names_of_toolchain = R"(
_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable _Unwind_Resume __cxa_atexit __cxa_finalize
__cxa_free_exception __cxa_pure_virtual __cxa_throw_bad_array_new_length __gmon_start__
__gcc_personality_v0 __gxx_personality_v0 __once_proxy __stack_chk_fail
_ZNSt6thread6_StateD1Ev _ZNSt6thread6_StateD2Ev
_ZSt11__once_call _ZSt15__once_callable _ZSt7nothrow _ZTVN10__cxxabiv117__class_type_infoE
_ZTVN10__cxxabiv119__pointer_type_infoE _ZTVN10__cxxabiv120__si_class_type_infoE
_ZTVN10__cxxabiv121__vmi_class_type_infoE _ZTVNSt6thread6_StateE
)";
/// Functions that use constants, or a state of the library that no program asks for; and the names
/// of such states.
constexpr std::string_view names_without_memory = R"(
__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc tolower toupper div ldiv lldiv sysconf
getpagesize get_nprocs get_nprocs_conf stdout stderr putchar fputc putc fflush
_ZSt4cout _ZSt4cerr _ZSt4clog
_ZSt15future_categoryv _ZNSt3_V215system_categoryEv _ZNSt3_V216generic_categoryEv
)";
/// The same, and what the checker defines.
constexpr std::string_view beginnings_of_toolchain = R"(
__tsan_ __ubsan_ __wrap_ lockyard_ __VERIFIER_ _ZTI
)";
/// Functions that use only their arguments, or an object of the caller's; and those that print,
/// whose results no program needs.
constexpr std::string_view known_names = R"(
__cxa_bad_cast __cxa_bad_typeid __dynamic_cast __gcc_personality_v0
_ZNSt13__future_base12_Result_baseC2Ev _ZNSt13__future_base12_Result_baseD2Ev
_ZNSt18condition_variableC1Ev _ZNSt18condition_variableD1Ev
printf vprintf fprintf vfprintf puts fputs fwrite perror __cxa_call_terminate __cxa_deleted_virtual
__cxa_get_exception_ptr _ZNSt3pmr15memory_resourceD2Ev
)";
constexpr std::string_view known_beginnings = R"(
_ZTS _ZNSt15__exception_ptr13exception_ptr _ZNKSt15__exception_ptr13exception_ptr pthread_attr_ pthread_mutexattr_ pthread_condattr_
pthread_rwlockattr_ pthread_barrierattr_ _ZNKSt8__detail20_Prime_rehash_policy
)";
/// Classes whose virtual functions and constructors use their own object only. The table of another
/// class leads to functions of a library that no name shows.
constexpr std::string_view known_classes = R"(
St9exception St13bad_exception St9bad_alloc St20bad_array_new_length St8bad_cast St10bad_typeid
St17bad_function_call St12bad_weak_ptr St11logic_error St12domain_error St16invalid_argument
St12length_error St12out_of_range St12future_error St13runtime_error St11range_error
St14overflow_error St15underflow_error St12system_error St16nested_exception St14error_category
NSt6thread6_StateE NSt13__future_base12_Result_baseE NSt3pmr15memory_resourceE
N10__cxxabiv117__class_type_infoE N10__cxxabiv119__pointer_type_infoE
N10__cxxabiv120__si_class_type_infoE N10__cxxabiv121__vmi_class_type_infoE
)";
/// The streams that exist anyway, and functions that write numbers and texts to a stream. No
/// program sees the states of these streams.
constexpr std::string_view streams = R"(
_ZNSt8ios_base4Init _ZSt4cout _ZSt4cerr _ZSt4clog _ZStls _ZNSols _ZNSo3put _ZNSo5flush _ZNSo9_M_insert
_ZSt16__ostream_insert _ZSt4endl _ZSt5flush _ZNKSt5ctypeIcE13_M_widen_initEv
)";
/// What the constructors and destructors of streams that write to strings lead to.
constexpr std::string_view string_streams = R"(
_ZNSt8ios_baseC _ZNSt8ios_baseD _ZNSt9basic_iosIcSt11char_traitsIcEE4initE
_ZNSt9basic_iosIcSt11char_traitsIcEE5clearE _ZNSt6localeC1Ev _ZNSt6localeD1Ev
_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE
_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE
_ZTTNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE
_ZTVNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE
_ZTVNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE
_ZTVSt15basic_streambufIcSt11char_traitsIcEE _ZTVSt9basic_iosIcSt11char_traitsIcEE
)";
/// Functions that take and return numbers alone. libgcc has some for numbers of 128 bits, and for
/// the bits of smaller numbers; the others have forms that end in f and l, for other types.
constexpr std::string_view known_arithmetic =
#include "arithmetic.txt"
    ;

constexpr std::string_view known_libraries = R"(
libc.so libm.so libstdc++.so libgcc_s.so libatomic.so libpthread.so ld-linux
)";

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  for (std::size_t end = 0;;) {
    const std::size_t begin = list.find_first_not_of(" \n", end);
    if (begin == std::string_view::npos) return words;
    end = list.find_first_of(" \n", begin);
    words.push_back(list.substr(begin, end - begin));
  }
}

bool is_in(std::string_view list, std::string_view name) {
  const auto words = words_of(list);
  return std::ranges::find(words, name) != words.end();
}

bool begins_as_one_of(std::string_view list, std::string_view name) {
  return std::ranges::any_of(words_of(list), [&](auto each) { return name.starts_with(each); });
}

bool has_known_class(std::string_view name) {
  if (name.starts_with("_ZTV")) return is_in(known_classes, name.substr(4));
  const std::size_t members = name.starts_with("_ZNK") ? 4 : 3;
  return name.starts_with("_ZN") && begins_as_one_of(known_classes, name.substr(members));
}

bool is_arithmetic(std::string_view name) {
  const bool is_of_size = name.ends_with('f') || name.ends_with('l');
  return is_in(known_arithmetic, name) ||
         (is_of_size && is_in(known_arithmetic, name.substr(0, name.size() - 1)));
}

/// The operator that writes all that another stream's buffer has uses that buffer too.
bool is_of_streams(std::string_view name) {
  return begins_as_one_of(streams, name) && name.find("basic_streambuf") == std::string_view::npos;
}

bool uses_no_memory(std::string_view name) {
  const bool throws = name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos;
  return throws || is_arithmetic(name) || is_in(names_of_toolchain, name) ||
         is_in(names_without_memory, name) || begins_as_one_of(beginnings_of_toolchain, name);
}

bool is_known(std::string_view name) {
  return uses_no_memory(name) || is_in(known_names, name) ||
         begins_as_one_of(known_beginnings, name) || has_known_class(name) || is_of_streams(name) ||
         begins_as_one_of(string_streams, name);
}

/// What the dynamic linker knows of a module.
struct tables {
  explicit tables(const ElfW(Dyn) * dynamic) {
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
      if (dynamic->d_tag == DT_NEEDED) libraries.push_back(dynamic->d_un.d_val);
      const auto* const at = reinterpret_cast<const void*>(dynamic->d_un.d_ptr);
      if (dynamic->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(at);
      if (dynamic->d_tag == DT_STRTAB) texts = static_cast<const char*>(at);
      if (dynamic->d_tag == DT_GNU_HASH) hashes = static_cast<const std::uint32_t*>(at);
    }
  }

  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  const std::uint32_t* hashes = nullptr;
  std::vector<std::size_t> libraries;
};

/// The names that the module does not define; nothing if they cannot be read.
std::optional<std::vector<std::string_view>> undefined_names(const tables& of) {
  if (of.symbols == nullptr || of.texts == nullptr || of.hashes == nullptr) return std::nullopt;
  // They come first, behind an empty one, and are not hashed.
  const std::size_t first_hashed = of.hashes[1];
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < first_hashed; ++i) {
    names.emplace_back(of.texts + of.symbols[i].st_name);
  }
  return names;
}

/// The same; also nothing if they may be in any library.
std::optional<std::vector<std::string_view>> names_in_known_libraries(const ElfW(Dyn) * dynamic) {
  const tables of{dynamic};
  const auto is_known_library = [&of](std::size_t each) {
    return begins_as_one_of(known_libraries, of.texts + each);
  };
  if (of.texts != nullptr && !std::ranges::all_of(of.libraries, is_known_library)) {
    return std::nullopt;
  }
  return undefined_names(of);
}

}  // namespace

bool calls_unknown_functions(const ElfW(Dyn) * dynamic) {
  const auto names = undefined_names(tables{dynamic});
  return !names || !std::ranges::all_of(*names, uses_no_memory);
}

bool may_hide_state(const ElfW(Dyn) * dynamic) {
  const auto names = names_in_known_libraries(dynamic);
  return !names || !std::ranges::all_of(*names, is_known);
}

unknown_functions watch_unknown_functions(const link_map& module) {
  const auto names = names_in_known_libraries(module.l_ld);
  if (!names) return {.may_use_memory = true, .may_hide_state = true};
  unknown_functions unwatched;
  for (const std::string_view each : *names) {
    if (uses_no_memory(each)) continue;
    using library_calls::unseen;
    const bool hides_state = !is_known(each);
    const auto what = hides_state ? unseen::state : unseen::memory;
    if (library_calls::watch(module, each, what, is_of_streams(each))) continue;
    unwatched.may_use_memory = true;
    unwatched.may_hide_state |= hides_state;
  }
  return unwatched;
}

bool asks_for_locks(const ElfW(Dyn) * dynamic) {
  const auto names = undefined_names(tables{dynamic});
  return !names || std::ranges::any_of(*names, [](std::string_view each) {
    return is_in(
        "__wrap_pthread_mutex_trylock __wrap_pthread_mutex_timedlock "
        "__wrap_pthread_mutex_clocklock __wrap_pthread_rwlock_tryrdlock "
        "__wrap_pthread_rwlock_timedrdlock __wrap_pthread_rwlock_clockrdlock "
        "__wrap_pthread_rwlock_trywrlock __wrap_pthread_rwlock_timedwrlock "
        "__wrap_pthread_rwlock_clockwrlock __wrap_pthread_spin_trylock",
        each);
  });
}

bool has_signal_fences(const ElfW(Dyn) * dynamic) {
  const auto names = undefined_names(tables{dynamic});
  return !names || std::ranges::find(*names, "__tsan_atomic_signal_fence") != names->end();
}

bool may_end_statics(const ElfW(Dyn) * dynamic) {
  const auto names = names_in_known_libraries(dynamic);
  return names && std::ranges::all_of(*names, is_known);
}

bool shares_exceptions(const ElfW(Dyn) * dynamic) {
  const auto names = names_in_known_libraries(dynamic);
  return !names || std::ranges::any_of(*names, [](std::string_view each) {
    return each.find("exception_ptr") != std::string_view::npos;
  });
}

}  // namespace lockyard::plain
