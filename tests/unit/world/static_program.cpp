// SPDX-License-Identifier: Apache-2.0

// Sleeps and wake-ups by way of a mutex in a program that is linked statically. Exits with 0 if the
// count is right.

#include <thread>
#include <vector>

#include "plugin.hpp"

int main() {
  constexpr unsigned threads = 3, rounds = 100;
  part_interface self{};
  describe_part(&self);
  char mutex = 0;  // all zero bytes are the free state
  unsigned counter = 0;
  std::vector<std::thread> team;
  for (unsigned i = 0; i < threads; ++i) team.emplace_back(self.count, &mutex, &counter, rounds);
  for (auto& thread : team) thread.join();
  return counter == threads * rounds ? 0 : 1;
}
