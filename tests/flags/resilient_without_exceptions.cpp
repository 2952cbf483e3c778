// SPDX-License-Identifier: Apache-2.0

// A program without exceptions whose resilient locks fail: by a result where there is one, and by
// an end with a message where there is none.

#include <lockyard/lockyard.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace {

int reported = 0;

template <class Lock>
bool fails_by_result() {
  Lock lock;
  const auto before =
      lockyard::set_lock_report_handler([](const lockyard::lock_report&) { ++reported; });
  const bool right = lock.lock() && lock.lock() == lockyard::lock_errc::deadlock;
  lock.unlock();
  lockyard::set_lock_report_handler(before);
  return right && lock.try_lock() && reported == 1 && --reported == 0;
}

template <class Lock>
bool ends_where_it_would_throw() {
  const pid_t child = fork();
  if (child == 0) {
    lockyard::throwing<Lock> lock;
    lock.lock();
    lock.lock();
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
         WTERMSIG(status) == SIGABRT;
}

}  // namespace

int main() {
  const bool right = fails_by_result<lockyard::resilient_spinlock>() &&
                     fails_by_result<lockyard::resilient_mutex>() &&
                     ends_where_it_would_throw<lockyard::resilient_spinlock>() &&
                     ends_where_it_would_throw<lockyard::resilient_mutex>();
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
