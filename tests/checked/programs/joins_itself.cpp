// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. A thread that joins itself gets an error ([thread.thread.member]),
// and main() joins it later. With FAULT nothing catches the exception.
#include <pthread.h>
#include <cassert>
#include <cerrno>
#include <future>
#include <system_error>
#include <thread>

int main() {
  std::promise<void> is_there;
  bool has_error = false;
  std::thread mine;
  mine = std::thread([&] {
    is_there.get_future().wait();
    assert(pthread_join(pthread_self(), nullptr) == EDEADLK);
#ifdef FAULT
    mine.join();
#else
    try {
      mine.join();
    } catch (const std::system_error& error) {
      has_error = error.code() == std::errc::resource_deadlock_would_occur;
    }
#endif
  });
  is_there.set_value();
  mine.join();
  assert(has_error);
}
