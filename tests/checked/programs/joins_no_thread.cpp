// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Joining an object that stands for no thread throws.
#include <cassert>
#include <system_error>
#include <thread>
int main() {
  bool has_thrown = false;
#ifndef FAULT
  try {
    std::thread{}.join();
  } catch (const std::system_error& error) {
    has_thrown = error.code() == std::errc::invalid_argument;
  }
#endif
  assert(has_thrown);
}
