// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Objects of the C++ library that static initialisation makes, and that
// have state outside of the program's memory, are whole in every execution.
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
static std::atomic<int> count{0};
static int data;
static std::ofstream file{"/dev/null"};
static std::string text{"longer than any text that a string has in itself"};
static void add() {
  ++count;
#ifdef FAULT
  ++data;
#endif
}
int main() {
  std::thread first{&add};
  std::thread second{&add};
  first.join();
  second.join();
  file << text << data;
  file.flush();
}
