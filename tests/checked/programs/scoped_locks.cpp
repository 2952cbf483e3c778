// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. Three threads take two mutexes each, in different orders.
#include <cassert>
#include <mutex>
#include <thread>

struct account {
  std::mutex mutex;
  int money = 100;
};
account first;
account second;
account third;

void transfer(account& from, account& to, int amount) {
#ifdef FAULT
  const std::lock_guard out{from.mutex};
  const std::lock_guard in{to.mutex};
#else
  const std::scoped_lock both{from.mutex, to.mutex};
#endif
  from.money -= amount;
  to.money += amount;
}

int main() {
  std::thread one{[] { transfer(first, second, 10); }};
  std::thread two{[] { transfer(second, third, 20); }};
  transfer(third, first, 30);
  one.join();
  two.join();
  std::unique_lock<std::mutex> all[]{std::unique_lock{first.mutex, std::defer_lock},
                                     std::unique_lock{second.mutex, std::defer_lock},
                                     std::unique_lock{third.mutex, std::defer_lock}};
  std::lock(all[0], all[1], all[2]);
  assert(all[0].owns_lock() && all[2].owns_lock());
  assert(first.money == 120 && second.money == 90 && third.money == 90);
}
