// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A std::array is used at the index of a counter. With FAULT the
// index is the array's length, which the C++ library forbids.
#include <array>
#include <atomic>
#include <thread>
#ifdef FAULT
constexpr unsigned length = 1;
#else
constexpr unsigned length = 2;
#endif
struct log {
  std::array<std::atomic<int>, length> lines{};
  int more = 0;
};
static log written;
static std::atomic<unsigned> next{0};
static void write() {
  written.lines[next.fetch_add(1)].store(1);
}
int main() {
  std::thread other{write};
  write();
  other.join();
}
