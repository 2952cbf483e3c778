// SPDX-License-Identifier: Apache-2.0
#include <lockyard/lockyard.hpp>

#include <mutex>
#include <thread>

int main() {
  lockyard::futex_mutex guard;
  int balance = 0;
  const auto deposit = [&] {
    for (int i = 0; i < 1000; ++i) {
      const std::scoped_lock lock{guard};
      ++balance;
    }
  };
  std::thread other{deposit};
  deposit();
  other.join();
  return balance == 2000 ? 0 : 1;
}
