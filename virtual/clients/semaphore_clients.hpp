// SPDX-License-Identifier: Apache-2.0
#pragma once

// Semaphores among threads that give and take different numbers of permits, and locks that are held
// more than once.

#include <checker/registry.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace lockyard::checker {

/// The actions of a thread with a semaphore that begins without permits.
struct deed {
  enum class kind : std::uint8_t {
    gives,
    gives_singly,  ///< one by one
    takes,
    takes_a_while,  ///< or gives up
    ends,           ///< takes as the last thread, and ends the semaphore
  };
  kind what;
  std::ptrdiff_t permits;

  bool operator==(const deed&) const = default;
};

template <class Semaphore, deed... Deeds>
class semaphore_client : public model::client {
  using kind = deed::kind;

 public:
  explicit semaphore_client(const model::client_size& /*size*/)
      : semaphore_{::new(place_) Semaphore} {}

  [[nodiscard]] unsigned threads() const override { return sizeof...(Deeds); }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return static_cast<unsigned>(std::ranges::find(deeds, deeds[index]) - deeds.begin());
  }

  void thread(unsigned index) override {
    const deed mine = deeds[index];
    switch (mine.what) {
      case kind::gives: given_[index].write(true); return semaphore_->release(mine.permits);
      case kind::gives_singly:
        given_[index].write(true);
        for (std::ptrdiff_t each = 0; each < mine.permits; ++each) semaphore_->release();
        return;
      case kind::takes: semaphore_->acquire(mine.permits); return take(index);
      case kind::takes_a_while:
        if (semaphore_->try_acquire_for(mine.permits, std::chrono::milliseconds{1})) take(index);
        return;
      case kind::ends:
        semaphore_->acquire(mine.permits);
        take(index);
        std::exchange(semaphore_, nullptr)->~Semaphore();
    }
  }

  void finish() override {
    if (semaphore_ == nullptr) return;
    std::ptrdiff_t left = all_given();
    for (unsigned index = 0; index < threads(); ++index) {
      if (taken_[index].read()) left -= deeds[index].permits;
    }
    model::require(left >= 0, "no more is taken than was given");
    model::require(semaphore_->try_acquire(left), "no permit is lost");
    model::require(!semaphore_->try_acquire(), "no permit is made of nothing");
  }

 private:
  static constexpr std::array deeds{Deeds...};
  static constexpr bool is_giver(kind what) {
    return what == kind::gives || what == kind::gives_singly;
  }
  static constexpr std::ptrdiff_t all_given() {
    std::ptrdiff_t sum = 0;
    for (const deed& each : deeds) sum += is_giver(each.what) ? each.permits : 0;
    return sum;
  }

  static constexpr std::ptrdiff_t givers() {
    return std::ranges::count_if(deeds, [](const deed& each) { return is_giver(each.what); });
  }

  /// A thread that took all permits, or one from the only giver, comes after the giver.
  void take(unsigned index) {
    taken_[index].write(true);
    if (deeds[index].permits != all_given() && givers() > 1) return;
    for (unsigned other = 0; other < threads(); ++other) {
      if (!is_giver(deeds[other].what)) continue;
      model::require(given_[other].read(), "what came before the release is seen");
    }
  }

  alignas(Semaphore) std::byte place_[sizeof(Semaphore)];
  Semaphore* semaphore_;
  std::array<model::plain_data<bool>, sizeof...(Deeds)> given_{};
  std::array<model::plain_data<bool>, sizeof...(Deeds)> taken_{};
};

/// Each thread holds the lock twice, by a try the second time, and changes a counter at every
/// level.
template <class Lock>
class recursion_client : public model::client {
 public:
  explicit recursion_client(const model::client_size& size) : size_{size} {}

  [[nodiscard]] unsigned threads() const override { return size_.threads; }
  [[nodiscard]] unsigned symmetry_class(unsigned /*index*/) const override { return 0; }
  [[nodiscard]] bool compares_names_only() const override { return true; }

  void thread(unsigned /*index*/) override {
    for (unsigned round = 0; round < size_.acquisitions; ++round) {
      lock_.lock();
      change();
      lock_.lock();
      change();
      lock_.unlock();
      change();
      lock_.unlock();
    }
  }

  void finish() override {
    model::require(counter_.read() == 3 * size_.threads * size_.acquisitions, "no update is lost");
  }

 private:
  void change() { counter_.write(counter_.read() + 1); }

  model::client_size size_;
  Lock lock_;
  model::plain_data<unsigned> counter_{0};
};

}  // namespace lockyard::checker
