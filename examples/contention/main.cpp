// SPDX-License-Identifier: Apache-2.0

// A shop whose threads wait for its stock and its till. A thread of its own prints the five places
// that cost most, while the shop goes on.

#include <lockyard/contention.hpp>
#include <lockyard/park/mutex.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "lock_sites.hpp"

using namespace std::chrono_literals;

lockyard::mutex stock;
lockyard::mutex till;
long goods = 0;
long money = 0;

[[gnu::noinline]] void restock() {
  const std::scoped_lock lock{stock};
  ++goods;
  std::this_thread::sleep_for(200us);  // held for too long: this is what the table shows
}
[[gnu::noinline]] void sell() {
  {
    const std::scoped_lock lock{stock};
    --goods;
  }
  const std::scoped_lock lock{till};
  ++money;
}

int main() {
  lockyard::set_contention_hook(lock_sites::record);
  std::atomic<bool> closes{false};
  std::vector<std::thread> staff;
  for (int i = 0; i < 2; ++i) {
    staff.emplace_back([&] {
      while (!closes) restock();
    });
    staff.emplace_back([&] {
      while (!closes) sell();
    });
  }
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(500ms);
    lock_sites::print_top(stdout, 5);
  }
  closes = true;
  for (auto& each : staff) each.join();
  lockyard::set_contention_hook(nullptr);
}
