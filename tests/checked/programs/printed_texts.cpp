// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A stream of the C++ library reads the text that it prints, while another
// thread writes to it.
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
static std::string text = "text";
int main() {
  std::thread other{[] {
    std::puts("other");
#ifdef FAULT
    text[0] = 'n';
#endif
  }};
  std::cout << text;
  other.join();
}
