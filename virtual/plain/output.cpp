// SPDX-License-Identifier: Apache-2.0

// Functions of the C and C++ libraries that print what they are given, or make a number of a text:
// they read their caller's memory, at the call.

#include "wrapped.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <utility>

namespace lockyard::plain {

namespace {

int print(std::FILE* to, const char* form, std::va_list more, const void* pc) {
  if (is_active()) now().note_unordered();  // as for snprintf()
  read_text(form, without_limit, pc);
  std::va_list again;
  va_copy(again, more);
  if (!read_texts(form, again, pc) && is_active()) note_unseen();
  va_end(again);
  return std::vfprintf(to, form, more);
}

/// A number at the beginning of a text. The library reads up to the byte that ends it.
template <class Convert>
auto number_of(const char* text, char** end, const void* pc, Convert convert) {
  refresh_text(text);
  const int before = std::exchange(errno, 0);
  char* behind = nullptr;
  const auto number = convert(text, &behind);
  const int error = std::exchange(errno, before);
  read_bytes(text, static_cast<std::size_t>(behind - text) + 1, pc);
  if (end != nullptr) {
    write_bytes(end, sizeof *end, pc);
    *end = behind;
  }
  if (error != 0 && is_active()) worker::mine().storage[now().self()].error = error;
  if (error != 0 && !is_active()) errno = error;
  return number;
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl50-cpp): the names are the linker's, and the
// functions that print take any arguments.
extern "C" {

using lockyard::plain::number_of;
using lockyard::plain::read_bytes;
using lockyard::plain::read_text;
using lockyard::plain::without_limit;

int __wrap_puts(const char* text) {
  read_text(text, without_limit, LOCKYARD_PC);
  return std::puts(text);
}
int __wrap_fputs(const char* text, std::FILE* to) {
  read_text(text, without_limit, LOCKYARD_PC);
  return std::fputs(text, to);
}
void __wrap_perror(const char* text) {
  if (text != nullptr) read_text(text, without_limit, LOCKYARD_PC);
  std::perror(text);
}
std::size_t __wrap_fwrite(const void* from, std::size_t bytes, std::size_t count, std::FILE* to) {
  read_bytes(from, bytes * count, LOCKYARD_PC);
  return std::fwrite(from, bytes, count, to);
}
int __wrap_vprintf(const char* form, std::va_list more) {
  return lockyard::plain::print(stdout, form, more, LOCKYARD_PC);
}
int __wrap_vfprintf(std::FILE* to, const char* form, std::va_list more) {
  return lockyard::plain::print(to, form, more, LOCKYARD_PC);
}
int __wrap_printf(const char* form, ...) {
  std::va_list more;
  va_start(more, form);
  const int written = lockyard::plain::print(stdout, form, more, LOCKYARD_PC);
  va_end(more);
  return written;
}
int __wrap_fprintf(std::FILE* to, const char* form, ...) {
  std::va_list more;
  va_start(more, form);
  const int written = lockyard::plain::print(to, form, more, LOCKYARD_PC);
  va_end(more);
  return written;
}

#define LOCKYARD_NUMBER(type, name)                                                              \
  type __wrap_##name(const char* text, char** end, int base) {                                   \
    return number_of(text, end, LOCKYARD_PC,                                                     \
                     [base](const char* from, char** to) { return std::name(from, to, base); }); \
  }
#define LOCKYARD_SHORT(type, name, long_name)                                                   \
  type __wrap_##name(const char* text) {                                                        \
    return static_cast<type>(number_of(text, nullptr, LOCKYARD_PC,                              \
                                       [](const char* from, char** to) { return long_name; })); \
  }
#define LOCKYARD_REAL(type, name)                                                      \
  type __wrap_##name(const char* text, char** end) {                                   \
    return number_of(text, end, LOCKYARD_PC,                                           \
                     [](const char* from, char** to) { return std::name(from, to); }); \
  }
LOCKYARD_NUMBER(long, strtol)
LOCKYARD_NUMBER(long long, strtoll)
LOCKYARD_NUMBER(unsigned long, strtoul)
LOCKYARD_NUMBER(unsigned long long, strtoull)
LOCKYARD_REAL(float, strtof)
LOCKYARD_REAL(double, strtod)
LOCKYARD_REAL(long double, strtold)
LOCKYARD_SHORT(int, atoi, std::strtol(from, to, 10))
LOCKYARD_SHORT(long, atol, std::strtol(from, to, 10))
LOCKYARD_SHORT(long long, atoll, std::strtoll(from, to, 10))
LOCKYARD_SHORT(double, atof, std::strtod(from, to))

// The C++ library's output of texts.
std::ostream& __wrap__ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l(
    std::ostream& to, const char* text, std::streamsize bytes) {
  read_bytes(text, static_cast<std::size_t>(bytes), LOCKYARD_PC);
  return std::__ostream_insert(to, text, bytes);
}
std::ostream& __wrap__ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(std::ostream& to,
                                                                             const char* text) {
  if (text != nullptr) read_text(text, without_limit, LOCKYARD_PC);
  return to << text;
}
std::ostream&
__wrap__ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE(
    std::ostream& to, const std::string& text) {
  read_bytes(&text, sizeof text, LOCKYARD_PC);
  read_bytes(text.data(), text.size(), LOCKYARD_PC);
  return to << text;
}
std::ostream& __wrap__ZNSo5writeEPKcl(std::ostream* to, const char* text, std::streamsize bytes) {
  read_bytes(text, static_cast<std::size_t>(bytes), LOCKYARD_PC);
  return to->write(text, bytes);
}
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl50-cpp)
