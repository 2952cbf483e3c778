// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A function of the C library that stops at a byte sees the bytes that
// were stored by atomic accesses, even if no thread has read them as plain data before.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
namespace {
struct text {
  char bytes[8] = {};
  explicit text(const char* letters) {
    for (int i = 0; letters[i] != '\0'; ++i) std::atomic_ref<char>(bytes[i]).store(letters[i]);
  }
};
int in_order(const void* a, const void* b) {
  return *static_cast<const char*>(a) - *static_cast<const char*>(b);
}
void use_each() {
  assert(std::strlen(text{"ab"}.bytes) == 2);
  assert(strnlen(text{"ab"}.bytes, 8) == 2);
  assert(std::strcmp(text{"ab"}.bytes, text{"ac"}.bytes) < 0);
  assert(std::strncmp(text{"ab"}.bytes, text{"ac"}.bytes, 2) < 0);
  const auto hash = std::hash<std::string_view>{};
  assert(hash({text{"ab"}.bytes, 2}) == hash("ab"));
  assert(std::memcmp(text{"ab"}.bytes, text{"ac"}.bytes, 2) < 0);
  text found{"ab"};
  assert(std::memchr(found.bytes, 'b', 8) == found.bytes + 1);
  text first{"ab"};
  assert(std::strchr(first.bytes, 'b') == first.bytes + 1);
  assert(std::strchr(text{"ab"}.bytes, 'c') == nullptr);
  text last{"aba"};
  assert(std::strrchr(last.bytes, 'a') == last.bytes + 2);
  text part{"abc"};
  assert(std::strstr(part.bytes, text{"bc"}.bytes) == part.bytes + 1);
  char* const copy = strdup(text{"ab"}.bytes);
  assert(std::strlen(copy) == 2);
  std::free(copy);
  text joined{"ab"};
  assert(std::strcmp(std::strcat(joined.bytes, text{"cd"}.bytes), "abcd") == 0);
  text cut{"ab"};
  assert(std::strcmp(std::strncat(cut.bytes, text{"cd"}.bytes, 1), "abc") == 0);
  char copied[8];
  assert(std::strcmp(std::strcpy(copied, text{"ab"}.bytes), "ab") == 0);
  assert(std::strcmp(std::strncpy(copied, text{"cd"}.bytes, 3), "cd") == 0);
  std::snprintf(copied, sizeof copied, "%d%.*s%s%5.1f", 1, 1, text{"ab"}.bytes, text{"c"}.bytes,
                2.0);
  assert(std::strcmp(copied, "1ac  2.") == 0);
  text sorted{"ba"};
  std::qsort(sorted.bytes, 2, 1, &in_order);
  assert(std::strcmp(sorted.bytes, "ab") == 0);
}
char shared[8];
}  // namespace
int main() {
  use_each();
  std::thread writer{[] { std::atomic_ref<char>(shared[0]).store('a'); }};
#ifndef FAULT
  writer.join();
  assert(std::strlen(shared) == 1);
#else
  assert(std::strlen(shared) <= 1);
  writer.join();
#endif
}
