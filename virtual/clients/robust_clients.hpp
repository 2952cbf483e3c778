// SPDX-License-Identifier: Apache-2.0
#pragma once

// The death of a thread that holds a shared_memory_mutex, with the kernel's part played by hand.

#include <lockyard/park/shared_memory_mutex.hpp>

#include <model/client.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// Plays the kernel for a thread that ends and owns the word (handle_futex_death).
template <class W>
struct death_of_owner<basic_shared_memory_mutex<W>> {
  using mutex = basic_shared_memory_mutex<W>;

  static void of(mutex& held) noexcept {
    std::uint32_t found = held.word_.load(std::memory_order_relaxed);
    while (!held.word_.compare_exchange_strong(found, (found & mutex::sleepers) | mutex::died,
                                               std::memory_order_seq_cst,
                                               std::memory_order_relaxed)) {
    }
    if ((found & mutex::sleepers) != 0) W::wake(held.word_, 1);
  }
};

}  // namespace lockyard::inline v0

namespace lockyard::checker {

/// The first thread dies between its two changes. Each other thread makes the data consistent if it
/// is told that they are not, and none other may find them so.
class dying_owner_client : public model::client {
 public:
  explicit dying_owner_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return index == 0 ? 0 : 1;
  }
  [[nodiscard]] bool compares_names_only() const override { return true; }

  void thread(unsigned index) override {
    mutex_.lock();
    if (mutex_.owner_died()) {
      model::require(first_.read() == second_.read() + 1, "the first thread has died");
      second_.write(first_.read());
      mutex_.make_consistent();
    }
    model::require(first_.read() == second_.read(), "a torn change is always reported");
    first_.write(first_.read() + 1);
    if (index == 0) return death_of_owner<mutex>::of(mutex_);
    second_.write(second_.read() + 1);
    mutex_.unlock();
  }

  void finish() override {
    model::require(first_.read() == threads_, "no change is lost");
    model::require(second_.read() + 1 >= first_.read(), "at most one is torn");
  }

 private:
  using mutex = basic_shared_memory_mutex<model::model>;

  unsigned threads_;
  mutex mutex_;
  model::plain_data<unsigned> first_{0};
  model::plain_data<unsigned> second_{0};
};

}  // namespace lockyard::checker
