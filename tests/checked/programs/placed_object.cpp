// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. An object is made in storage by placement new, published, used and
// destroyed after the join; with FAULT the storage is freed before the join.
#include <atomic>
#include <cassert>
#include <memory>
#include <new>
#include <thread>
struct item {
  explicit item(int v) : value{v} {}
  int value;
};
int main() {
  auto storage = std::make_unique<std::byte[]>(sizeof(item));
  std::atomic<item*> published{nullptr};
  std::thread user{[&] {
    if (item* const found = published.load(std::memory_order_acquire)) assert(found->value == 4);
  }};
  published.store(::new (storage.get()) item{4}, std::memory_order_release);
#ifdef FAULT
  storage.reset();
#endif
  user.join();
}
