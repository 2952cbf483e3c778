// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. A value, and a notification with the mutex, that others get at the end
// of a thread ([futures.promise], [thread.condition.nonmember]) come after the
// destructors of its thread_local variables. A value that a promise publishes at once does not.
#include <cassert>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
static int data;
struct counter {
  counter() = default;
  counter(const counter&) = delete;
  ~counter() { ++data; }
  void start() { data = 1; }
};
static thread_local counter last;
static std::mutex mutex;
static std::condition_variable has_ended;
static bool is_done;
int main() {
  std::promise<int> promise;
  std::future<int> promised = promise.get_future();
  std::thread other{[&] {
    last.start();
#ifdef FAULT
    promise.set_value(2);
#else
    promise.set_value_at_thread_exit(2);
#endif
    std::unique_lock held{mutex};
    is_done = true;
    std::notify_all_at_thread_exit(has_ended, std::move(held));
  }};
  assert(promised.get() == 2);
  assert(data == 2);
  {
    std::unique_lock held{mutex};
    has_ended.wait(held, [] { return is_done; });
    assert(data == 2);
  }
  other.join();
}
