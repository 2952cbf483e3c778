// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <model/client.hpp>

#include <cstdint>

namespace lockyard::checker {

/// An event that threads wait for on a futex: one thread sets it, all others go on from there.
/// A setter that looks for waiters in a step of its own misses the one that comes in between.
template <bool LooksFirst>
class event_client : public model::client {
 public:
  explicit event_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    if (index == 0) {
      data_.write(1);
      set();
    } else {
      wait();
      model::require(data_.read() == 1, "what came before the event is seen");
    }
  }

 private:
  enum : std::uint32_t { unset, awaited, happened };

  void set() {
    std::uint32_t before = 0;
    if constexpr (LooksFirst) {
      before = state_.load(std::memory_order_seq_cst);
      state_.store(happened, std::memory_order_seq_cst);
    } else {
      before = state_.exchange(happened, std::memory_order_release);
    }
    if (before == awaited) model::model::wake(state_, threads_);
  }

  void wait() {
    std::uint32_t found = unset;
    if (state_.compare_exchange_strong(found, awaited, std::memory_order_acquire,
                                       std::memory_order_acquire)) {
      found = awaited;
    }
    while (found != happened) {
      model::model::wait(state_, awaited);
      found = state_.load(std::memory_order_acquire);
    }
  }

  unsigned threads_;
  model::word<std::uint32_t> state_{unset};
  model::plain_data<unsigned> data_{0};
};

}  // namespace lockyard::checker
