// SPDX-License-Identifier: Apache-2.0

// A program without exceptions and run-time type information that uses every lock.

#include <lockyard/debug.hpp>
#include <lockyard/guard.hpp>
#include <lockyard/guarded.hpp>
#include <lockyard/lockyard.hpp>

#include <cstdlib>
#include <thread>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "to be compiled with -fno-exceptions -fno-rtti"
#endif

namespace {

constexpr int rounds = 1000;

template <class Lock>
int counted_by_two() {
  lockyard::guarded<int, Lock> counter;
  const auto count = [&counter] {
    for (int i = 0; i < rounds; ++i) counter.with([](int& value) { ++value; });
  };
  std::thread other{count};
  count();
  other.join();
  Lock lock;
  const lockyard::guard held{lock};
  const auto result = counter.try_lock();
  return result ? *result : 0;
}

}  // namespace

int main() {
  bool right = true;
  lockyard::for_each_entry([&right]<class Lock>(const lockyard::catalog_entry<Lock>&) {
    if constexpr (requires { sizeof(Lock); }) {
      right = counted_by_two<Lock>() == 2 * rounds && right;
    }
  });
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
