// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <model/client.hpp>

namespace lockyard::checker {

/// A sequence lock: one writer, readers that take two words only if the writer did not write
/// meanwhile.
template <bool ReaderFences>
class seqlock_client : public model::client {
 public:
  explicit seqlock_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return index == 0 ? 0 : 1;
  }

  void thread(unsigned index) override {
    if (index == 0) {
      write();
    } else {
      read();
    }
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  void write() {
    sequence_.store(1, relaxed);
    model::model::fence(std::memory_order_release);
    first_.store(1, relaxed);
    second_.store(1, relaxed);
    sequence_.store(2, std::memory_order_release);
  }

  void read() {
    const unsigned before = sequence_.load(std::memory_order_acquire);
    const unsigned first = first_.load(relaxed);
    const unsigned second = second_.load(relaxed);
    if constexpr (ReaderFences) model::model::fence(std::memory_order_acquire);
    const unsigned after = sequence_.load(relaxed);
    if (before != after || before % 2 != 0) return;
    model::require(first == second, "both words are of the same write");
  }

  unsigned threads_;
  model::word<unsigned> sequence_{0};
  model::word<unsigned> first_{0};
  model::word<unsigned> second_{0};
};

}  // namespace lockyard::checker
