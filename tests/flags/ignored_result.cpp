// SPDX-License-Identifier: Apache-2.0

// Compiled with warnings as errors: MISUSE says which result of a resilient lock is ignored.

#include <lockyard/lockyard.hpp>

int use(lockyard::resilient_mutex& lock) {
#if MISUSE == 1
  lock.lock();
#elif MISUSE == 2
  lock.try_lock();
#elif MISUSE == 3
  lock.try_lock_for(std::chrono::seconds{1});
#elif MISUSE == 4
  lockyard::resilient_guard{lock};
#endif
  if (const lockyard::lock_result how = lock.lock(); !how) return 1;
  lock.unlock();
  return 0;
}
