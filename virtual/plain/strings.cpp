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

namespace lockyard::plain {

namespace {

const char* note_text(const char* text, const void* pc) {
  read_bytes(text, std::strlen(text) + 1, pc);
  return text;
}

/// The bytes that a function reads which stops at a difference, or at the end of the texts.
std::size_t compared(const char* a, const char* b, std::size_t most) {
  std::size_t same = 0;
  while (same < most && a[same] == b[same] && a[same] != '\0') ++same;
  return std::min(same + 1, most);
}

/// Copies a text with its end; returns the end of the copy.
char* copy_text(char* to, const char* from, const void* pc) {
  const std::size_t length = std::strlen(note_text(from, pc));
  write_bytes(to, length + 1, pc);
  std::memcpy(to, from, length + 1);
  return to + length;
}

/// The bytes from the first to the one that was found, or all of them.
std::size_t up_to(const void* found, const void* first, std::size_t all) {
  if (found == nullptr) return all;
  return static_cast<std::size_t>(static_cast<const char*>(found) -
                                  static_cast<const char*>(first)) +
         1;
}

int print(char* to, std::size_t most, const char* form, std::va_list more, const void* pc) {
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

using lockyard::plain::compared;
using lockyard::plain::copy_text;
using lockyard::plain::note_text;
using lockyard::plain::read_bytes;
using lockyard::plain::up_to;
using lockyard::plain::write_bytes;

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
  const void* const found = std::memchr(in, wanted, bytes);
  read_bytes(in, up_to(found, in, bytes), LOCKYARD_PC);
  return found;
}

std::size_t __wrap_strlen(const char* text) {
  return std::strlen(note_text(text, LOCKYARD_PC));
}
std::size_t __wrap_strnlen(const char* text, std::size_t most) {
  const std::size_t length = strnlen(text, most);
  read_bytes(text, std::min(length + 1, most), LOCKYARD_PC);
  return length;
}
int __wrap_strncmp(const char* a, const char* b, std::size_t most) {
  const std::size_t bytes = compared(a, b, most);
  read_bytes(a, bytes, LOCKYARD_PC);
  read_bytes(b, bytes, LOCKYARD_PC);
  return std::strncmp(a, b, most);
}
int __wrap_strcmp(const char* a, const char* b) {
  const std::size_t bytes = compared(a, b, ~std::size_t{0});
  read_bytes(a, bytes, LOCKYARD_PC);
  read_bytes(b, bytes, LOCKYARD_PC);
  return std::strcmp(a, b);
}
const char* __wrap_strchr(const char* text, int wanted) {
  const char* const found = std::strchr(text, wanted);
  read_bytes(text, up_to(found, text, std::strlen(text) + 1), LOCKYARD_PC);
  return found;
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
  read_bytes(from, std::min(strnlen(from, bytes) + 1, bytes), LOCKYARD_PC);
  write_bytes(to, bytes, LOCKYARD_PC);
  return std::strncpy(to, from, bytes);
}
char* __wrap_strcat(char* to, const char* from) {
  copy_text(to + std::strlen(note_text(to, LOCKYARD_PC)), from, LOCKYARD_PC);
  return to;
}
char* __wrap_strncat(char* to, const char* from, std::size_t most) {
  char* const end = to + std::strlen(note_text(to, LOCKYARD_PC));
  const std::size_t length = strnlen(from, most);
  read_bytes(from, std::min(length + 1, most), LOCKYARD_PC);
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
  write_bytes(first, count * bytes, LOCKYARD_PC);
  std::qsort(first, count, bytes, compare);
}
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl50-cpp)
