// SPDX-License-Identifier: Apache-2.0

// What a module's code calls where it does something undefined that only the compiler or the C++
// library can see: the options are in visible.txt, and the names and the layouts come from GCC's
// sanitizer and from libstdc++.

#include "names.hpp"
#include "wrapped.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace lockyard::plain {

namespace {

/// Followed by the type's name.
struct type_record {
  std::uint16_t kind;
  std::uint16_t info;

  [[nodiscard]] bool has_sign() const { return (info & 1U) != 0; }
  [[nodiscard]] std::string name() const { return reinterpret_cast<const char*>(this + 1); }
  /// An array of this length may be the beginning of a longer one, where it is a structure's last
  /// member: older code has no other form. No record says whether it is.
  [[nodiscard]] bool may_be_longer() const {
    if (!has_longer_ends()) return false;
    const std::string all = name();
    const std::size_t length = all.find('[') + 1;
    return all.compare(length, 2, "0]") == 0 || all.compare(length, 2, "1]") == 0;
  }
};

struct index_record {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
  const type_record* array;
  const type_record* index;
};

[[noreturn]] void fail(const std::string& what, std::source_location where) {
  if (is_active()) now().fail(model::verdict::assertion, what, where);
  std::fprintf(stderr, "static initialisation: %s\n", what.c_str());
  std::_Exit(1);
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the compiler's.
extern "C" {

void __ubsan_handle_out_of_bounds(const lockyard::plain::index_record* of, std::uintptr_t index) {
  const std::string number = of->index->has_sign()
                                 ? std::to_string(static_cast<std::intptr_t>(index))
                                 : std::to_string(index);
  if (of->array->may_be_longer()) return;
  lockyard::plain::fail("uses index " + number + " of an array of type " + of->array->name(),
                        LOCKYARD_HERE);
}
void __ubsan_handle_builtin_unreachable(const void* /*of*/) {
  lockyard::plain::fail("reaches __builtin_unreachable()", LOCKYARD_HERE);
}
void __ubsan_handle_missing_return(const void* /*of*/) {
  lockyard::plain::fail("leaves a function without the value that it returns", LOCKYARD_HERE);
}
/// std::__glibcxx_assert_fail()
void __wrap__ZSt21__glibcxx_assert_failPKciS0_S0_(const char* file, int line,
                                                  const char* /*function*/, const char* claim) {
  lockyard::plain::fail("the C++ library requires that " + std::string{claim} + " (" +
                            lockyard::model::file_name(file) + ":" + std::to_string(line) + ")",
                        LOCKYARD_HERE);
}
}
// NOLINTEND(bugprone-reserved-identifier)
