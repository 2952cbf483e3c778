// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Two transfers in opposite directions take the mutexes of both
// accounts at once. With FAULT one of them is from an account to itself, and so takes a mutex that
// the thread holds.
#include <cassert>
#include <mutex>
#include <thread>

struct account {
  std::mutex guard;
  int sum = 10;
};

void transfer(account& from, account& to, int amount) {
  const std::scoped_lock held(from.guard, to.guard);
  from.sum -= amount;
  to.sum += amount;
}

int main() {
  account one;
  account other;
  std::thread first([&] { transfer(one, other, 1); });
#ifdef FAULT
  std::thread second([&] { transfer(other, other, 2); });
#else
  std::thread second([&] { transfer(other, one, 2); });
#endif
  first.join();
  second.join();
  assert(one.sum + other.sum == 20);
}
