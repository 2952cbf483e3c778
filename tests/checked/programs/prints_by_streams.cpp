// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Threads that print to a stream, or name an exception that they do
// not throw: the checker need not see what the library does.
#include <cassert>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

struct wrong_count : std::runtime_error {
  using std::runtime_error::runtime_error;
};

static std::mutex lock;
static int count = 0;

static void run(int number) {
  const std::lock_guard guard{lock};
#ifdef FAULT
  if (number == 3) return;
#endif
  ++count;
  std::cout << "thread " << number << " counts " << count << std::endl;
  if (count > 100) throw wrong_count{"more than there are"};
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run, i);
  for (std::thread& each : threads) each.join();
  std::cout << "together " << count << '\n';
  assert(count == 4);
}
