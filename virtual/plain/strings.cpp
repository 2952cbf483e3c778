// SPDX-License-Identifier: Apache-2.0

// Functions of the C library that read and write the memory that they are given. The module is
// compiled without builtin functions, so its calls arrive here.

#include "wrapped.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

namespace lockyard::plain {

namespace {

/// A byte as it is now. A word's bytes in memory are as its last plain use has left them.
char byte_at(const void* first, std::size_t index) {
  const char* const at = static_cast<const char*>(first) + index;
  if (is_active()) worker::mine().memory.refresh(reinterpret_cast<std::uintptr_t>(at));
  return *at;
}

}  // namespace

void refresh_text(const char* text) {
  for (std::size_t i = 0; byte_at(text, i) != '\0';) ++i;
}

std::size_t read_text(const char* text, std::size_t most, const void* pc) {
  std::size_t length = 0;
  while (length < most && byte_at(text, length) != '\0') ++length;
  read_bytes(text, length < most ? length + 1 : most, pc);
  return length;
}

namespace {

const char* note_text(const char* text, const void* pc) {
  read_text(text, without_limit, pc);
  return text;
}

/// Reads the bytes that a function reads which stops at a difference, or at the end of the texts.
void read_compared(const char* a, const char* b, std::size_t most, const void* pc) {
  std::size_t same = 0;
  while (same < most && byte_at(a, same) == byte_at(b, same) && byte_at(a, same) != '\0') ++same;
  const std::size_t bytes = same < most ? same + 1 : most;
  read_bytes(a, bytes, pc);
  read_bytes(b, bytes, pc);
}

/// Copies a text with its end; returns the end of the copy.
char* copy_text(char* to, const char* from, const void* pc) {
  const std::size_t length = read_text(from, without_limit, pc);
  write_bytes(to, length + 1, pc);
  std::memcpy(to, from, length + 1);
  return to + length;
}

}  // namespace

bool read_texts(const char* form, std::va_list arguments, const void* pc) {
  constexpr const char* digits = "0123456789";
  const char* at = form;
  while ((at = std::strchr(at, '%')) != nullptr) {
    ++at;
    at += std::strspn(at, "-+ #0'");
    if (*at == '*') static_cast<void>(va_arg(arguments, int));
    at += *at == '*' ? 1 : std::strspn(at, digits);
    std::size_t most = without_limit;
    if (*at == '.') {
      ++at;
      const int given = *at == '*' ? va_arg(arguments, int) : std::atoi(at);
      if (given >= 0) most = static_cast<std::size_t>(given);
      at += *at == '*' ? 1 : std::strspn(at, digits);
    }
    const std::string_view size{at, std::strspn(at, "hljztL")};
    at += size.size();
    const bool is_int = size.empty() || size.starts_with('h');
    const char kind = *at++;
    if (kind == '%') continue;
    if (kind != '\0' && std::strchr("cdiouxX", kind) != nullptr) {
      is_int ? static_cast<void>(va_arg(arguments, int))
             : static_cast<void>(va_arg(arguments, long));
    } else if (kind != '\0' && std::strchr("aAeEfFgG", kind) != nullptr) {
      size == "L" ? static_cast<void>(va_arg(arguments, long double))
                  : static_cast<void>(va_arg(arguments, double));
    } else if (kind == 'p') {
      static_cast<void>(va_arg(arguments, void*));
    } else if (kind == 's' && size.empty()) {
      const char* const text = va_arg(arguments, const char*);
      if (text != nullptr) read_text(text, most, pc);
    } else {
      return false;
    }
  }
  return true;
}

namespace {

int print(char* to, std::size_t most, const char* form, std::va_list more, const void* pc) {
  // What the arguments point to may be read unseen.
  if (is_active()) execution::current()->note_unordered();
  std::va_list again;
  va_copy(again, more);
  if (!read_texts(note_text(form, pc), again, pc) && is_active()) note_unseen();
  va_end(again);
  const int written = std::vsnprintf(to, most, form, more);
  if (written >= 0 && most != 0) {
    write_bytes(to, std::min(static_cast<std::size_t>(written) + 1, most), pc);
  }
  return written;
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl50-cpp): the names are the linker's, and the
// functions that print take any arguments.

extern "C" {

using lockyard::plain::byte_at;
using lockyard::plain::copy_text;
using lockyard::plain::note_text;
using lockyard::plain::read_bytes;
using lockyard::plain::read_compared;
using lockyard::plain::read_text;
using lockyard::plain::without_limit;
using lockyard::plain::write_bytes;

/// How std::hash reads a text.
std::size_t __wrap__ZSt11_Hash_bytesPKvmm(const void* first, std::size_t bytes, std::size_t seed) {
  read_bytes(first, bytes, LOCKYARD_PC);
  return std::_Hash_bytes(first, bytes, seed);
}

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  read_bytes(from, bytes, LOCKYARD_PC);
  write_bytes(to, bytes, LOCKYARD_PC);
  return std::memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  read_bytes(from, bytes, LOCKYARD_PC);
  write_bytes(to, bytes, LOCKYARD_PC);
  return std::memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  write_bytes(to, bytes, LOCKYARD_PC);
  return std::memset(to, value, bytes);
}
int __wrap_memcmp(const void* a, const void* b, std::size_t bytes) {
  read_bytes(a, bytes, LOCKYARD_PC);
  read_bytes(b, bytes, LOCKYARD_PC);
  return std::memcmp(a, b, bytes);
}
const void* __wrap_memchr(const void* in, int wanted, std::size_t bytes) {
  std::size_t before = 0;
  while (before < bytes && byte_at(in, before) != static_cast<char>(wanted)) ++before;
  read_bytes(in, before < bytes ? before + 1 : bytes, LOCKYARD_PC);
  return std::memchr(in, wanted, bytes);
}

std::size_t __wrap_strlen(const char* text) {
  return read_text(text, without_limit, LOCKYARD_PC);
}
std::size_t __wrap_strnlen(const char* text, std::size_t most) {
  return read_text(text, most, LOCKYARD_PC);
}
int __wrap_strncmp(const char* a, const char* b, std::size_t most) {
  read_compared(a, b, most, LOCKYARD_PC);
  return std::strncmp(a, b, most);
}
int __wrap_strcmp(const char* a, const char* b) {
  read_compared(a, b, without_limit, LOCKYARD_PC);
  return std::strcmp(a, b);
}
const char* __wrap_strchr(const char* text, int wanted) {
  std::size_t before = 0;
  for (;; ++before) {
    const char each = byte_at(text, before);
    if (each == static_cast<char>(wanted) || each == '\0') break;
  }
  read_bytes(text, before + 1, LOCKYARD_PC);
  return text[before] == static_cast<char>(wanted) ? text + before : nullptr;
}
const char* __wrap_strrchr(const char* text, int wanted) {
  return std::strrchr(note_text(text, LOCKYARD_PC), wanted);
}
const char* __wrap_strstr(const char* text, const char* wanted) {
  return std::strstr(note_text(text, LOCKYARD_PC), note_text(wanted, LOCKYARD_PC));
}

char* __wrap_strcpy(char* to, const char* from) {
  copy_text(to, from, LOCKYARD_PC);
  return to;
}
char* __wrap_stpcpy(char* to, const char* from) {
  return copy_text(to, from, LOCKYARD_PC);
}
char* __wrap_strncpy(char* to, const char* from, std::size_t bytes) {
  read_text(from, bytes, LOCKYARD_PC);
  write_bytes(to, bytes, LOCKYARD_PC);
  return std::strncpy(to, from, bytes);
}
char* __wrap_strcat(char* to, const char* from) {
  copy_text(to + read_text(to, without_limit, LOCKYARD_PC), from, LOCKYARD_PC);
  return to;
}
char* __wrap_strncat(char* to, const char* from, std::size_t most) {
  char* const end = to + read_text(to, without_limit, LOCKYARD_PC);
  const std::size_t length = read_text(from, most, LOCKYARD_PC);
  write_bytes(end, length + 1, LOCKYARD_PC);
  std::memcpy(end, from, length);
  end[length] = '\0';
  return to;
}

int __wrap_vsnprintf(char* to, std::size_t most, const char* form, std::va_list more) {
  return lockyard::plain::print(to, most, form, more, LOCKYARD_PC);
}
int __wrap_snprintf(char* to, std::size_t most, const char* form, ...) {
  std::va_list more;
  va_start(more, form);
  const int written = lockyard::plain::print(to, most, form, more, LOCKYARD_PC);
  va_end(more);
  return written;
}
int __wrap_sprintf(char* to, const char* form, ...) {
  std::va_list more;
  va_start(more, form);
  const int written = lockyard::plain::print(to, INT32_MAX, form, more, LOCKYARD_PC);
  va_end(more);
  return written;
}
void __wrap_qsort(void* first, std::size_t count, std::size_t bytes,
                  int (*compare)(const void*, const void*)) {
  read_bytes(first, count * bytes, LOCKYARD_PC);
  write_bytes(first, count * bytes, LOCKYARD_PC);
  // The comparison may let other threads go on, and writes that follow are not seen.
  if (lockyard::plain::is_active()) lockyard::plain::now().note_unordered();
  std::qsort(first, count, bytes, compare);
}
/// The numbers follow from the seed, which is the code's own.
int __wrap_rand_r(unsigned* seed) {
  read_bytes(seed, sizeof *seed, LOCKYARD_PC);
  write_bytes(seed, sizeof *seed, LOCKYARD_PC);
  return rand_r(seed);
}
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl50-cpp)
