// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <model/client.hpp>

#include <chrono>
#include <cstdint>

namespace lockyard::checker {

/// When a sleeper executes the heavy fence.
enum class barrier_rule : std::uint8_t {
  always,
  unless_armed,    ///< not while there is an registration with a completed barrier
  unless_counted,  ///< not while there is any registration: this loses a wake-up
  trusted,         ///< always, and also if the barrier failed: this loses one too
};

/// An unlock that pays no fence. It releases the lock by a plain store and then looks into a
/// bucket, which counts the sleepers of all locks whose addresses fall there. A sleeper announces
/// itself in the bucket and executes the heavy fence that the unlocker leaves out. Here two locks
/// share the bucket. The first thread releases lock X, the second waits for it, the third waits for
/// lock Y, which the fourth releases; without a fourth, Y is free.
template <barrier_rule Rule>
class asymmetric_unlock_client : public model::client {
 public:
  explicit asymmetric_unlock_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    const bool releases = index == 0 || index == 3;
    lock& mine = index < 2 ? x_ : y_;
    if (!releases) wait_for(mine);
    mine.data.write(index);
    if (releases) unlock(mine);
  }

 private:
  using w = model::model;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto acq_rel = std::memory_order_acq_rel;

  struct lock {
    explicit lock(bool is_held) : held{is_held ? 1U : 0U} {}

    model::word<std::uint32_t> held;
    model::plain_data<unsigned> data{0};
  };

  // The bucket's word: the number of registrations; whether the barrier of one has completed; and
  // whether barriers are unavailable by now, so that unlock has to fence and to wake.
  static constexpr std::uint32_t armed = 0x100;
  static constexpr std::uint32_t biased = 0x200;
  static constexpr std::uint32_t counted = 0xff;

  void unlock(lock& mine) {
    const bool fences = (bucket_.load(relaxed) & biased) != 0;
    mine.held.store(0, std::memory_order_release);
    if (fences) {
      w::fence(std::memory_order_seq_cst);
    } else {
      w::asymmetric_fence_light();
    }
    if (bucket_.load(relaxed) != 0) w::wake(mine.held, 1);
  }

  void wait_for(lock& mine) {
    const bool is_covered = announce();
    while (mine.held.exchange(1, acquire) != 0) {
      if (is_covered) {
        w::wait(mine.held, 1);
      } else {
        // The unlocker may never learn of this sleeper: it looks again by itself.
        w::wait(mine.held, 1, w::deadline_after(std::chrono::milliseconds{1}));
      }
    }
    leave();
  }

  /// True if every unlocker from now on sees that a thread sleeps.
  bool announce() {
    const std::uint32_t before = bucket_.fetch_add(1, acq_rel);
    if (Rule == barrier_rule::unless_armed && (before & armed) != 0) return true;
    if (Rule == barrier_rule::unless_counted && (before & counted) != 0) return true;
    const bool done = w::asymmetric_fence_heavy() || Rule == barrier_rule::trusted;
    if (!done) {
      bucket_.fetch_or(biased, acq_rel);
    } else if (Rule == barrier_rule::unless_armed) {
      bucket_.fetch_or(armed, acq_rel);
    }
    return done;
  }

  void leave() {
    std::uint32_t found = 1;
    std::uint32_t less = 0;
    do {
      less = found - 1;
      if ((less & counted) == 0) less &= ~armed;
    } while (!bucket_.compare_exchange_strong(found, less, acq_rel, relaxed));
  }

  unsigned threads_;
  model::word<std::uint32_t> bucket_{0};
  lock x_{true};
  lock y_{threads_ > 3};
};

}  // namespace lockyard::checker
