// SPDX-License-Identifier: Apache-2.0

// Prints what an uncontended pair of lock() and unlock() costs, one lock a line: name, nanoseconds.
// For pair_cost.py, which compiles it against the headers of two commits.

#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/fair_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/recursive_mutex.hpp>
#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

constexpr int pairs_in_chunk = 20'000;

/// The median of 31 chunks, of about 5 ms in all.
template <class Lock, class Pair>
[[gnu::noinline, gnu::aligned(64)]] double cost_ns(Lock& lock, Pair pair) {
  using clock = std::chrono::steady_clock;
  std::array<double, 31> found{};
  for (double& each : found) {
    const auto begin = clock::now();
    for (int i = 0; i < pairs_in_chunk; ++i) {
      pair(lock);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    const std::chrono::duration<double, std::nano> took = clock::now() - begin;
    each = took.count() / pairs_in_chunk;
  }
  std::ranges::nth_element(found, found.begin() + 15);
  return found[15];
}

template <class Lock>
void print_cost(const char* name) {
  alignas(128) static Lock lock;
  const double ns = cost_ns(lock, [](Lock& of) {
    of.lock();
    of.unlock();
  });
  std::printf("%s %.4f\n", name, ns);
}

template <class Lock>
void print_shared_cost(const char* name) {
  alignas(128) static Lock lock;
  const double ns = cost_ns(lock, [](Lock& of) {
    of.lock_shared();
    of.unlock_shared();
  });
  std::printf("%s %.4f\n", name, ns);
}

}  // namespace

int main() {
  // As in any program that needs locks: the C library takes short cuts while there is one thread.
  std::thread{[] { std::this_thread::sleep_for(std::chrono::hours{1}); }}.detach();
  print_cost<lockyard::mutex>("mutex");
  print_cost<lockyard::basic_mutex<lockyard::native, lockyard::release_fence::full>>(
      "mutex[fence]");
  print_cost<lockyard::byte_mutex>("byte_mutex");
  print_cost<lockyard::fair_mutex>("fair_mutex");
  print_cost<lockyard::futex_mutex>("futex_mutex");
  print_cost<lockyard::recursive_mutex<>>("recursive_mutex");
  print_cost<lockyard::shared_mutex>("shared_mutex");
  print_shared_cost<lockyard::shared_mutex>("shared_mutex(shared)");
  print_cost<lockyard::ttas_spinlock>("ttas_spinlock");
  print_cost<std::mutex>("std::mutex");
}
