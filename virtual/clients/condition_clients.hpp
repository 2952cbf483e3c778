// SPDX-License-Identifier: Apache-2.0
#pragma once

// Condition variables, with the lock that they are for.

#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>

#include <checker/registry.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

namespace lockyard::checker {

/// The actions of a thread with the items that are given and taken under the lock.
enum class turn : std::uint8_t {
  takes,                   ///< one, and waits for it
  gives,                   ///< one, and notifies under the lock
  gives_after,             ///< one, and notifies after the lock
  gives_all,               ///< one for each who takes, and notifies all under the lock
  gives_all_after,         ///< the same after the lock
  waits,                   ///< once, for a notification
  waits_a_while,           ///< the same; notifies the next one if it was notified
  waits_to_destroy,        ///< the same, and then ends the condition variable
  waits_for_stop,          ///< the same, or for a stop
  waits_a_while_for_stop,  ///< or until the deadline
  notifies,                ///< one, when all who wait do so, and without the lock
  notifies_held,           ///< the same with the lock
  notifies_to_destroy,     ///< all, and then ends the condition variable
  stops,                   ///< requests a stop
  locks,                   ///< and unlocks
  tries,                   ///< to lock, and unlocks
};

template <class Condition, class Lock, turn... Turns>
class condition_client : public model::client {
  struct open_condition : Condition {
    using Condition::wait_once;
  };

  /// For a stop: what std::stop_callback does with std::stop_token.
  class stop_state {
   public:
    void request() {
      lock_.lock();
      requested_ = true;
      if (end_) end_();
      lock_.unlock();
    }
    [[nodiscard]] bool requested() {
      lock_.lock();
      const bool now = requested_;
      lock_.unlock();
      return now;
    }
    template <class End>
    void watch(End end) {
      lock_.lock();
      end_ = end;
      if (requested_) end();
      lock_.unlock();
    }
    /// Waits for the end of an `end()` under way.
    void look_away() {
      lock_.lock();
      end_ = {};
      lock_.unlock();
    }

   private:
    basic_ttas_spinlock<model::model> lock_;
    // Under the lock, which is correct; so the checker need not look at these.
    bool requested_ = false;
    std::function<void()> end_;
  };
  struct stop_callback {
    template <class End>
    stop_callback(stop_state& of, End end) : state{of} {
      state.watch(end);
    }
    stop_callback(const stop_callback&) = delete;
    stop_callback& operator=(const stop_callback&) = delete;
    ~stop_callback() { state.look_away(); }
    stop_state& state;
  };

 public:
  explicit condition_client(const model::client_size& /*size*/)
      : condition_{::new(place_) open_condition} {
    // As every mutex that is in use: its bucket is open.
    lock_.lock();
    lock_.unlock();
  }

  [[nodiscard]] unsigned threads() const override { return sizeof...(Turns); }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return static_cast<unsigned>(turns[index]);
  }

  void thread(unsigned index) override {
    using enum turn;
    const turn mine = turns[index];
    switch (mine) {
      case takes: return take();
      case gives: return give(1, false, [&] { condition_->notify_one(); });
      case gives_after: return give(1, true, [&] { condition_->notify_one(); });
      case gives_all: return give(count_of(takes), false, [&] { condition_->notify_all(); });
      case gives_all_after: return give(count_of(takes), true, [&] { condition_->notify_all(); });
      case notifies:
      case notifies_held: return notify(mine == notifies_held);
      case notifies_to_destroy: return end();
      case locks: lock_.lock(); return lock_.unlock();
      case tries: return lock_.try_lock() ? lock_.unlock() : void();
      case stops: return stop_.request();
      default: return wait(mine);
    }
  }

  void finish() override { model::require(items_.read() == 0, "each item is taken once"); }

 private:
  static constexpr std::array turns{Turns...};
  static constexpr unsigned count_of(turn which) { return ((Turns == which) + ...); }

  void take() {
    lock_.lock();
    condition_->wait(lock_, [this] { return items_.read() != 0; });
    items_.write(items_.read() - 1);
    lock_.unlock();
  }

  template <class Notify>
  void give(unsigned count, bool after, Notify notify) {
    lock_.lock();
    items_.write(items_.read() + count);
    if (!after) notify();
    lock_.unlock();
    if (after) notify();
  }

  void wait(turn mine) {
    lock_.lock();
    waiting_.fetch_add(1, std::memory_order_relaxed);
    bool notified = true;
    if (mine == turn::waits_a_while) {
      const auto ended = condition_->wait_for(lock_, std::chrono::milliseconds{1});
      notified = ended == std::cv_status::no_timeout;
    } else if (mine == turn::waits_for_stop) {
      wait_or_stop([&](auto watch) {
        condition_->wait_once(lock_, watch);
        return true;
      });
    } else if (mine == turn::waits_a_while_for_stop) {
      const auto limit = model::model::deadline_after(std::chrono::milliseconds{1});
      wait_or_stop([&](auto watch) { return condition_->wait_once(lock_, watch, limit); });
    } else {
      condition_->wait(lock_);
    }
    lock_.unlock();
    if (mine == turn::waits_a_while && notified) condition_->notify_one();
    if (mine == turn::waits_to_destroy) condition_->~open_condition();
  }

  template <class Wait>
  void wait_or_stop(Wait wait_once) {
    const auto watch = [this](auto end) { return stop_callback{stop_, end}; };
    while (!ends_.read() && !stop_.requested() && wait_once(watch)) {
    }
  }

  void end() {
    lock_.lock();
    ends_.write(true);
    condition_->notify_all();
    condition_->~open_condition();
    lock_.unlock();
  }

  void notify(bool held) {
    constexpr unsigned all =
        ((Turns >= turn::waits && Turns <= turn::waits_a_while_for_stop) + ...);
    model::model::await(
        waiting_, [](unsigned now) noexcept { return now == all; }, std::memory_order_relaxed,
        wait_policies::pausing{});
    lock_.lock();
    if (held) condition_->notify_one();
    lock_.unlock();
    if (!held) condition_->notify_one();
  }

  Lock lock_;
  alignas(open_condition) std::byte place_[sizeof(open_condition)];
  open_condition* condition_;
  model::word<std::uint32_t> waiting_{0};
  stop_state stop_;
  model::plain_data<bool> ends_{false};
  model::plain_data<unsigned> items_{0};
};

/// A condition variable whose waiters use one mutex, and in the second round another one. The first
/// thread waits in both rounds and ends the first one for all; the second thread waits in the first
/// round, and holds the first mutex during the second one; the last thread begins a notification in
/// the first round, which may find waiters of the second one.
template <class Condition, class Lock>
class two_rounds_client : public model::client {
 public:
  explicit two_rounds_client(const model::client_size& /*size*/) {
    first_.open();
    second_.open();
  }

  [[nodiscard]] unsigned threads() const override { return 3; }

  void thread(unsigned index) override {
    switch (index) {
      case 0:
        first_.wait(condition_);
        condition_.notify_all();
        await(returned_, 1);
        second_.wait(condition_);
        return returned_.store(2, std::memory_order_relaxed);
      case 1:
        first_.wait(condition_);
        returned_.store(1, std::memory_order_relaxed);
        await(second_.waiting, 1);
        first_.lock.lock();
        second_.let();
        condition_.notify_all();
        await(returned_, 2);
        return first_.lock.unlock();
      default:
        await(first_.waiting, 2);
        first_.let();
        return condition_.notify_all();
    }
  }

 private:
  struct round {
    void open() {
      // As every mutex that is in use: its bucket is open.
      lock.lock();
      lock.unlock();
    }
    void wait(Condition& condition) {
      lock.lock();
      waiting.fetch_add(1, std::memory_order_relaxed);
      condition.wait(lock, [this] { return is_over.read(); });
      lock.unlock();
    }
    void let() {
      lock.lock();
      is_over.write(true);
      lock.unlock();
    }

    Lock lock;
    model::word<std::uint32_t> waiting{0};
    model::plain_data<bool> is_over{false};
  };

  static void await(model::word<std::uint32_t>& word, std::uint32_t value) {
    model::model::await(
        word, [value](std::uint32_t now) noexcept { return now == value; },
        std::memory_order_relaxed, wait_policies::pausing{});
  }

  Condition condition_;
  round first_;
  round second_;
  model::word<std::uint32_t> returned_{0};  ///< from the waits of so many rounds
};

}  // namespace lockyard::checker
