// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A handler may keep the exception that it handles, and another thread may
// throw it again.
#include <cassert>
#include <exception>
#include <stdexcept>
#include <thread>
static std::exception_ptr kept;
static void fails() {
  try {
    throw std::runtime_error("found");
  } catch (...) {
    kept = std::current_exception();
  }
}
int main() {
  std::thread thread{fails};
#ifndef FAULT
  thread.join();
#endif
  if (kept != nullptr) {
    try {
      std::rethrow_exception(kept);
    } catch (const std::runtime_error& again) {
      assert(again.what()[0] == 'f' && std::uncaught_exceptions() == 0);
    }
    assert(std::uncaught_exceptions() == 0);
  }
#ifdef FAULT
  thread.join();
#endif
  assert(kept != nullptr && std::current_exception() == nullptr);
}
