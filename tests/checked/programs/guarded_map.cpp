// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. std::map changes its nodes in the library's own code. Its first
// elements come from static initialisation, in every execution.
#include <cassert>
#include <map>
#include <mutex>
#include <thread>
static std::map<int, int> entries{{1, 10}, {5, 50}};
static std::mutex guard;
int main() {
  std::thread other{[] {
    const std::scoped_lock held{guard};
    entries.emplace(3, 30);
    entries.erase(1);
  }};
  {
#ifndef FAULT
    const std::scoped_lock held{guard};
#endif
    const auto found = entries.find(3);
    if (found != entries.end()) assert(found->second == 30);
  }
  other.join();
  assert(entries.size() == 2);
}
