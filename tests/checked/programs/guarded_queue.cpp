// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT hang. A bounded template queue with a mutex and two condition variables,
// move-only items; the consumer tells the producer that there is room, or the producer sleeps
// forever.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
template <class T, std::size_t Most>
class queue {
 public:
  void push(T item) {
    std::unique_lock held{mutex_};
    room_.wait(held, [this] { return items_.size() < Most; });
    items_.push_back(std::move(item));
    held.unlock();
    filled_.notify_one();
  }
  T pop() {
    std::unique_lock held{mutex_};
    filled_.wait(held, [this] { return !items_.empty(); });
    T item = std::move(items_.front());
    items_.pop_front();
    held.unlock();
#ifndef FAULT
    room_.notify_one();
#endif
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<T> items_;
};
int main() {
  queue<std::unique_ptr<int>, 1> items;
  std::thread producer{[&] {
    for (int i = 0; i < 2; ++i) items.push(std::make_unique<int>(i));
  }};
  const int sum = *items.pop() + *items.pop();
  producer.join();
  return sum == 1 ? 0 : 1;
}
