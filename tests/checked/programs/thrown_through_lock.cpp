// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. lock_guard unlocks when an exception leaves its scope; a lock by
// hand does not, so the first thread ends while it owns the mutex, which C++ leaves undefined.
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
int main() {
  std::mutex mutex;
  int count = 0;
  const auto add = [&] {
    try {
#ifdef FAULT
      mutex.lock();
#else
      std::lock_guard held{mutex};
#endif
      if (++count) throw std::runtime_error{"out"};
      mutex.unlock();
    } catch (const std::exception&) {
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(add);
  for (auto& each : threads) each.join();
}
